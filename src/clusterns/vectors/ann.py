"""Approximate nearest neighbors with faiss: an inverted file whose recall is measured.

Vectors lie in lists around centroids, and a query looks into the nearest lists only. How many is
decided by measurement on the index's own vectors, and the recall is stored with the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterns.console import bar
from clusterns.vectors.nearest import QUERY_BLOCK, Rows, Vectors, largest, nearest, sort_best

TARGET_RECALL = 0.99
MEASURED_ON = 500  # vectors of the index
NEAREST = 10
RERANK_MARGIN = 10  # more than requested: half precision may swap the last and the next
ADD_BLOCK = 65_536
TRAINING_VECTORS_PER_LIST = 64
NEIGHBORS_BLOCK = 65_536  # vectors that look for their neighbors at a time
FIRST = 8  # one in this many lists is searched first


@dataclass(frozen=True)
class Recall:
    """What a search finds of the nearest vectors, measured."""

    lists: int
    probes: int
    """Lists that a query looks into."""
    recall: float
    """Share of the 10 nearest that is found."""
    queries: int
    """Vectors of the index that this was measured on."""


def is_installed() -> bool:
    """Whether the extra ``faiss`` is installed."""
    return find_spec("faiss") is not None


class InvertedFile:
    """faiss' inverted file over unit vectors; the similarities that it returns are exact.

    Args:
        index: faiss' own.
        vectors: (n, d) the vectors in it.
        recall: its size and measured recall.
    """

    def __init__(self, index: Any, vectors: Vectors, recall: Recall) -> None:
        self.index = index
        self.vectors = vectors
        self.recall = recall
        index.nprobe = recall.probes

    @classmethod
    def build(cls, vectors: Vectors, progress: bool) -> InvertedFile:
        """Put (n, d) unit vectors into lists, and find out how many lists a query needs."""
        import faiss

        lists = 2 ** round(np.log2(4 * np.sqrt(len(vectors))))
        lists = max(1, min(lists, len(vectors) // 39))  # faiss wants 39 vectors per centroid
        index = faiss.index_factory(
            vectors.shape[1], f"IVF{lists},SQfp16", faiss.METRIC_INNER_PRODUCT
        )
        n_train = min(len(vectors), lists * TRAINING_VECTORS_PER_LIST)
        index.train(np.ascontiguousarray(vectors[_evenly(len(vectors), n_train)]))
        with bar(total=len(vectors), desc="Index", unit=" texts", shown=progress) as done:
            for start in range(0, len(vectors), ADD_BLOCK):
                block = np.ascontiguousarray(vectors[start : start + ADD_BLOCK])
                index.add(block)
                done.update(len(block))
        made = cls(index, vectors, Recall(lists, 1, 0.0, 0))
        made.recall = made._measured()
        return made

    def _measured(self) -> Recall:
        """The fewest lists that reach the target; at most all of them."""
        own = _evenly(len(self.vectors), MEASURED_ON)
        queries = np.ascontiguousarray(self.vectors[own])
        exact, rows = nearest(queries, self.vectors, NEAREST, own)
        # A vector is found if its list is among those that are searched.
        order = np.argsort(-(queries @ self.centroids.T), axis=1)
        rank = np.take_along_axis(np.argsort(order, axis=1), self._list_of_each()[rows], 1)
        probes = 1
        if rank.size:
            probes += int(np.quantile(rank, TARGET_RECALL, method="inverted_cdf"))
        self.index.nprobe = probes
        found, _ = self.search(queries, NEAREST, own)
        # One as near as the last of the true ones is right, whichever of equals it is.
        recall = float(np.mean(found >= exact[:, -1:] - 1e-5)) if found.size else 1.0
        return Recall(self.recall.lists, probes, recall, len(own))

    @property
    def centroids(self) -> Vectors:
        """(lists, d) the centroids."""
        return self.index.quantizer.reconstruct_n(0, self.index.nlist)

    @property
    def inverted_lists(self) -> list[Rows]:
        """The rows of each list."""
        import faiss

        lists = self.index.invlists
        return [
            faiss.rev_swig_ptr(lists.get_ids(number), lists.list_size(number)).copy()
            for number in range(self.index.nlist)
        ]

    def _list_of_each(self) -> Rows:
        """(n,) the list that each vector is in."""
        of = np.empty(len(self.vectors), dtype=np.int64)
        for number, rows in enumerate(self.inverted_lists):
            of[rows] = number
        return of

    def neighbors(self, k: int, progress: bool = True) -> tuple[Vectors, Rows]:
        """The nearest other vectors of every vector, in as many lists as a search looks into."""
        return neighbors_in_lists(
            self.vectors, self.centroids, self.inverted_lists, self.recall.probes, k, progress
        )

    def search(self, queries: Vectors, k: int, own: Rows | None = None) -> tuple[Vectors, Rows]:
        """As :func:`clusterns.vectors.nearest.nearest`; what is not found has row -1 and -inf."""
        k = min(k, len(self.vectors) - (own is not None))
        scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        rows = np.full((len(queries), k), -1, dtype=np.int64)
        for start in range(0, len(queries), QUERY_BLOCK):
            part = slice(start, start + QUERY_BLOCK)
            few = np.ascontiguousarray(queries[part], dtype=np.float32)
            wanted = min(k + RERANK_MARGIN + (own is not None), len(self.vectors))
            _, found = self.index.search(few, wanted)
            # From the vectors themselves: the index stores them in half precision.
            exact = np.einsum("md,mkd->mk", few, self.vectors[found])
            exact[found < 0] = -np.inf
            if own is not None:
                exact, found = _without(own[part], exact, found)
            exact, found = sort_best(exact, found)
            scores[part], rows[part] = exact[:, :k], found[:, :k]
        return scores, rows

    def save(self, path: Path) -> dict[str, Any]:
        """Write the lists and return their facts, which the caller stores."""
        import faiss

        faiss.write_index(self.index, str(path))
        return asdict(self.recall)

    @classmethod
    def load(cls, path: Path, vectors: Vectors, facts: dict[str, Any]) -> InvertedFile:
        """Map the lists that :meth:`save` wrote."""
        import faiss

        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
        return cls(index, vectors, Recall(**facts))


def _evenly(count: int, chosen: int) -> Rows:
    return np.linspace(0, count - 1, min(chosen, count), dtype=np.int64)


def _without(own: Rows, scores: Vectors, rows: Rows) -> tuple[Vectors, Rows]:
    """Take each query's own row out of its (m, n) answers, or the last one if it is not there."""
    is_own = rows == own[:, None]
    is_own[~is_own.any(axis=1), -1] = True
    shape = len(rows), -1
    return scores[~is_own].reshape(shape), rows[~is_own].reshape(shape)


def neighbors_in_lists(
    vectors: Vectors,
    centroids: Vectors,
    inverted_lists: Sequence[Rows],
    probes: int,
    k: int,
    progress: bool,
) -> tuple[Vectors, Rows]:
    """The ``k`` nearest other vectors of every vector: (n, k) dot products and rows, the best first.

    Vectors that look into the same list do so together: one product of matrices is an order of
    magnitude faster than as many dot products one after the other, and a million vectors take minutes.

    Args:
        vectors: (n, d), which may be a mapped file.
        centroids: (lists, d).
        inverted_lists: the rows of each list; every row is in one of them.
        probes: lists that a vector looks into: those with the nearest centroids.
        k: number of neighbors; what is not found is row -1 and -inf.
        progress: whether to show a progress bar.
    """
    count, k = len(vectors), min(k, len(vectors) - 1)
    scores = np.empty((count, k), dtype=np.float32)
    rows = np.empty((count, k), dtype=np.int64)
    with bar(total=count, desc="Neighbors", unit=" texts", shown=progress) as done:
        for start in range(0, count, NEIGHBORS_BLOCK):
            part = slice(start, min(start + NEIGHBORS_BLOCK, count))
            block, own = np.asarray(vectors[part]), np.arange(part.start, part.stop)
            searchers = _searchers(block, centroids, probes)
            # One more, since each finds itself.
            found = _nearest_of_block(vectors, block, searchers, inverted_lists, k + 1)
            scores[part], rows[part] = sort_best(*_without(own, *found))
            done.update(len(own))
    return scores, rows


def _nearest_of_block(
    vectors: Vectors,
    block: Vectors,
    searchers: Iterator[tuple[int, NDArray[np.int64]]],
    inverted_lists: Sequence[Rows],
    k: int,
) -> tuple[Vectors, Rows]:
    """The ``k`` nearest of some vectors, themselves among them, unsorted."""
    best = np.full((len(block), k), -np.inf, dtype=np.float32)
    rows = np.full((len(block), k), -1, dtype=np.int64)
    floor = best[:, 0].copy()  # the worst of each vector's best: an answer must be above it
    for number, asking in searchers:
        members = inverted_lists[number]
        if not len(members) or not len(asking):
            continue
        found = block[asking] @ np.asarray(vectors[members]).T
        better = np.flatnonzero(found.max(axis=1) > floor[asking])
        asking = asking[better]
        both = np.concatenate([best[asking], found[better]], axis=1)
        of = np.broadcast_to(members, (len(better), len(members)))
        of_both = np.concatenate([rows[asking], of], axis=1)
        keep = largest(both, k)
        best[asking] = np.take_along_axis(both, keep, 1)
        rows[asking] = np.take_along_axis(of_both, keep, 1)
        floor[asking] = best[asking].min(axis=1)
    return best, rows


def _searchers(
    block: Vectors, centroids: Vectors, probes: int
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Lists, each with the vectors of the block that look into it.

    All lists come twice: the first time for the vectors to which they are among the very nearest.
    These raise the floor, so that most of what is found later need not be sorted in.
    """
    first, lists = max(1, probes // FIRST), len(centroids)
    probes = min(probes, lists)
    ends = sorted({lists - probes, lists - first})
    small = np.uint16 if lists <= 2**16 else np.int64  # small numbers are sorted by counting
    chosen = np.concatenate(
        [
            # The nearest lists of each vector, the very nearest at the end.
            np.argpartition(block[start : start + QUERY_BLOCK] @ centroids.T, ends, axis=1)[
                :, lists - probes :
            ].astype(small)
            for start in range(0, len(block), QUERY_BLOCK)
        ]
    )
    for turn in (chosen[:, -first:], chosen[:, :-first]):
        if turn.shape[1]:
            flat = turn.ravel()
            order = np.argsort(flat, kind="stable") // turn.shape[1]
            ends_of_lists = np.cumsum(np.bincount(flat, minlength=lists))
            yield from enumerate(np.split(order, ends_of_lists[:-1]))
