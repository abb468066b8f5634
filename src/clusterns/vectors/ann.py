"""Approximate nearest neighbors with faiss: an inverted file whose recall is measured.

Vectors are in lists around centroids, and a query probes only the nearest lists. The number of probes
is chosen by measuring the recall on the index's own vectors; the recall is stored with the index.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from clusterns.console import bar
from clusterns.vectors.nearest import QUERY_BLOCK, Rows, Vectors, nearest, sort_best

TARGET_RECALL = 0.99
RECALL_SAMPLE = 500  # vectors of the index
NEAREST = 10
RERANK_MARGIN = 10  # extra results: half precision may swap the last one and the next
ADD_BLOCK = 65_536
TRAINING_VECTORS_PER_LIST = 64


@dataclass(frozen=True)
class Recall:
    """Measured recall of a search."""

    lists: int
    probes: int
    """Lists that a query searches."""
    recall: float
    """Share of the 10 nearest vectors that a search finds."""
    queries: int
    """Number of vectors used as queries to measure it."""


def is_installed() -> bool:
    """Whether the extra ``faiss`` is installed."""
    return find_spec("faiss") is not None


class InvertedFile:
    """faiss' inverted file over unit vectors; the similarities that it returns are exact.

    Args:
        index: the faiss index.
        vectors: (n, d) vectors in the index.
        recall: size and measured recall of the index.
    """

    def __init__(self, index: Any, vectors: Vectors, recall: Recall) -> None:
        self.index = index
        self.vectors = vectors
        self.recall = recall
        index.nprobe = recall.probes

    @classmethod
    def build(cls, vectors: Vectors, progress: bool) -> InvertedFile:
        """Build lists of (n, d) unit vectors, and measure how many lists a query has to search."""
        import faiss

        lists = 2 ** round(np.log2(4 * np.sqrt(len(vectors))))
        lists = max(1, min(lists, len(vectors) // 39))  # faiss recommends 39 vectors per centroid
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
        """Choose the smallest number of lists that reaches the target, and measure the recall."""
        own = _evenly(len(self.vectors), RECALL_SAMPLE)
        queries = np.ascontiguousarray(self.vectors[own])
        exact, rows = nearest(queries, self.vectors, NEAREST, own)
        probes = _probes(queries @ self.centroids.T, self._list_of_each()[rows])
        self.index.nprobe = probes
        found, _ = self.search(queries, NEAREST, own)
        return Recall(self.recall.lists, probes, _recall(found, exact), len(own))

    @property
    def centroids(self) -> Vectors:
        """(lists, d) the centroids."""
        return self.index.quantizer.reconstruct_n(0, self.index.nlist)

    def _list_of_each(self) -> Rows:
        """(n,) the list that each vector is in."""
        of = np.empty(len(self.vectors), dtype=np.int64)
        for number, rows in enumerate(self._lists()):
            of[rows] = number
        return of

    def _lists(self) -> list[Rows]:
        """The rows of each list."""
        import faiss

        lists = self.index.invlists
        return [
            faiss.rev_swig_ptr(lists.get_ids(number), lists.list_size(number)).copy()
            for number in range(self.index.nlist)
        ]

    def neighbors(self, k: int, progress: bool = True) -> tuple[Vectors, Rows, float]:
        """The nearest other vectors of every vector, and the recall of the 10 nearest.

        All vectors of a list search the lists around it together: one matrix product is an order of
        magnitude faster than separate dot products, and a million vectors take minutes.
        """
        count, k = len(self.vectors), min(k, len(self.vectors) - 1)
        scores = np.full((count, k), -np.inf, dtype=np.float32)
        rows = np.full((count, k), -1, dtype=np.int64)
        lists, cosines = self._lists(), self.centroids @ self.centroids.T
        np.fill_diagonal(cosines, np.inf)  # each list is nearest to itself
        sample, of = _evenly(count, 2 * RECALL_SAMPLE), self._list_of_each()
        exact, true = nearest(self.vectors[sample], self.vectors, min(k, NEAREST), sample)
        probes = _probes(cosines[of[sample[::2]]], of[true[::2]])
        order = np.argsort(-cosines, axis=1)[:, :probes]
        with bar(total=count, desc="Neighbors", unit=" texts", shown=progress) as done:
            for members, near in zip(lists, order, strict=True):
                if not len(members):
                    continue
                around = np.concatenate([lists[number] for number in near])
                nearby, own = np.asarray(self.vectors[around]), np.arange(len(members))
                cosine, at = nearest(nearby[own], nearby, k, own)
                found = cosine.shape[1]
                scores[members, :found], rows[members, :found] = cosine, around[at]
                done.update(len(members))
        return scores, rows, _recall(scores[sample[1::2], : exact.shape[1]], exact[1::2])

    def search(self, queries: Vectors, k: int, own: Rows | None = None) -> tuple[Vectors, Rows]:
        """Like :func:`clusterns.vectors.nearest.nearest`; missing results have row -1 and score -inf."""
        k = min(k, len(self.vectors) - (own is not None))
        scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        rows = np.full((len(queries), k), -1, dtype=np.int64)
        for start in range(0, len(queries), QUERY_BLOCK):
            part = slice(start, start + QUERY_BLOCK)
            few = np.ascontiguousarray(queries[part], dtype=np.float32)
            n_results = min(k + RERANK_MARGIN + (own is not None), len(self.vectors))
            _, found = self.index.search(few, n_results)
            # Recompute from the vectors: the index stores them in half precision.
            exact = np.einsum("md,mkd->mk", few, self.vectors[found])
            exact[found < 0] = -np.inf
            if own is not None:
                exact, found = _without(own[part], exact, found)
            exact, found = sort_best(exact, found)
            scores[part], rows[part] = exact[:, :k], found[:, :k]
        return scores, rows

    def save(self, path: Path) -> dict[str, Any]:
        """Write the index and return its facts, which the caller stores."""
        import faiss

        faiss.write_index(self.index, str(path))
        return asdict(self.recall)

    @classmethod
    def load(cls, path: Path, vectors: Vectors, facts: dict[str, Any]) -> InvertedFile:
        """Memory-map an index written by :meth:`save`."""
        import faiss

        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
        return cls(index, vectors, Recall(**facts))


def _evenly(count: int, chosen: int) -> Rows:
    return np.linspace(0, count - 1, min(chosen, count), dtype=np.int64)


def _probes(similarity: Vectors, lists: Rows) -> int:
    """The number of lists to search, by (n, lists) similarity, for the target share of results, which are
    in the (n, k) ``lists``."""
    rank = np.argsort(np.argsort(-similarity, axis=1), axis=1)
    ranks = np.take_along_axis(rank, lists, 1)
    return 1 + int(np.quantile(ranks, TARGET_RECALL, method="inverted_cdf")) if ranks.size else 1


def _recall(found: Vectors, exact: Vectors) -> float:
    """The share of results that are at least as near as the last exact one; ties count as found."""
    return float(np.mean(found >= exact[:, -1:] - 1e-5)) if found.size else 1.0


def _without(own: Rows, scores: Vectors, rows: Rows) -> tuple[Vectors, Rows]:
    """Remove each query's own row from its (m, n) results, or the last result if it is missing."""
    is_own = rows == own[:, None]
    is_own[~is_own.any(axis=1), -1] = True
    shape = len(rows), -1
    return scores[~is_own].reshape(shape), rows[~is_own].reshape(shape)
