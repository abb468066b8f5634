"""Approximate search with faiss where exact search is too slow, and how much of it is found.

An inverted file: vectors lie in lists around centroids, and a query looks into the nearest lists
only. How many is decided by measurement on the index's own vectors, and the share of the true
nearest that is found so is kept with the index.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from clusterns.console import bar
from clusterns.vectors.nearest import QUERIES, Rows, Vectors, nearest
from clusterns.vectors.neighbours import neighbours_in_lists

ENOUGH = 0.99  # of the true nearest, which a query should find
MEASURED_ON = 500  # vectors of the index
NEAREST = 10
SPARE = 10  # more than were asked for: half precision may take the last for the next
BLOCK = 65_536
TRAINING_VECTORS_A_LIST = 64


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
    """Whether the extra ``faiss`` is."""
    return find_spec("faiss") is not None


class InvertedFile:
    """faiss' inverted file over unit vectors; the similarities that it gives are exact.

    Args:
        index: faiss' own.
        vectors: (n, d) those in it.
        recall: what is known of it.
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
        lists = max(1, min(lists, len(vectors) // 39))  # faiss wants 39 vectors a centroid
        index = faiss.index_factory(
            vectors.shape[1], f"IVF{lists},SQfp16", faiss.METRIC_INNER_PRODUCT
        )
        few = np.linspace(
            0, len(vectors) - 1, min(len(vectors), lists * TRAINING_VECTORS_A_LIST), dtype=np.int64
        )
        index.train(np.ascontiguousarray(vectors[few]))
        with bar(total=len(vectors), desc="Index", unit=" texts", shown=progress) as done:
            for start in range(0, len(vectors), BLOCK):
                block = np.ascontiguousarray(vectors[start : start + BLOCK])
                index.add(block)
                done.update(len(block))
        made = cls(index, vectors, Recall(lists, 1, 0.0, 0))
        made.recall = made._measured()
        return made

    def _measured(self) -> Recall:
        """As few lists as find enough; at most all of them."""
        own = np.linspace(
            0, len(self.vectors) - 1, min(MEASURED_ON, len(self.vectors)), dtype=np.int64
        )
        queries = np.ascontiguousarray(self.vectors[own])
        exact, rows = nearest(queries, self.vectors, NEAREST, own)
        # A vector is found where its list is among those that are looked into.
        order = np.argsort(-(queries @ self.middles.T), axis=1)
        place = np.take_along_axis(np.argsort(order, axis=1), self._list_of_each()[rows], 1)
        probes = 1 + int(np.quantile(place, ENOUGH, method="inverted_cdf")) if place.size else 1
        self.index.nprobe = probes
        found, _ = self.search(queries, NEAREST, own)
        # One as near as the last of the true ones is right, whichever of equals it is.
        recall = float(np.mean(found >= exact[:, -1:] - 1e-5)) if found.size else 1.0
        return Recall(self.recall.lists, probes, recall, len(own))

    @property
    def middles(self) -> Vectors:
        """(lists, d) the centroids."""
        return self.index.quantizer.reconstruct_n(0, self.index.nlist)

    @property
    def members(self) -> list[Rows]:
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
        for number, rows in enumerate(self.members):
            of[rows] = number
        return of

    def neighbours(self, k: int, progress: bool = True) -> tuple[Vectors, Rows]:
        """The nearest others of every vector, in as many lists as a search looks into."""
        return neighbours_in_lists(
            self.vectors, self.middles, self.members, self.recall.probes, k, progress
        )

    def search(self, queries: Vectors, k: int, own: Rows | None = None) -> tuple[Vectors, Rows]:
        """As :func:`clusterns.vectors.nearest.nearest`; what is not found has row -1 and -inf."""
        k = min(k, len(self.vectors) - (own is not None))
        scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        rows = np.full((len(queries), k), -1, dtype=np.int64)
        for start in range(0, len(queries), QUERIES):
            part = slice(start, start + QUERIES)
            few = np.ascontiguousarray(queries[part], dtype=np.float32)
            wanted = min(k + SPARE + (own is not None), len(self.vectors))
            _, found = self.index.search(few, wanted)
            if own is not None:
                found = _without(found, own[part])
            # From the vectors themselves: the index keeps them in half precision.
            exact = np.einsum("md,mkd->mk", few, self.vectors[found])
            exact[found < 0] = -np.inf
            order = np.lexsort((found, -exact), axis=1)[:, :k]
            scores[part] = np.take_along_axis(exact, order, 1)
            rows[part] = np.take_along_axis(found, order, 1)
        return scores, rows

    def save(self, path: Path) -> dict[str, Any]:
        """Write the lists; what is known of them is for the caller to keep."""
        import faiss

        faiss.write_index(self.index, str(path))
        return asdict(self.recall)

    @classmethod
    def load(cls, path: Path, vectors: Vectors, facts: dict[str, Any]) -> InvertedFile:
        """Map the lists that :meth:`save` wrote."""
        import faiss

        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
        return cls(index, vectors, Recall(**facts))


def _without(found: Rows, own: Rows) -> Rows:
    """Take each query's own row out of its (m, n) answers, or the last where it is not in."""
    is_own = found == own[:, None]
    is_own[~is_own.any(axis=1), -1] = True
    return found[~is_own].reshape(len(found), -1)
