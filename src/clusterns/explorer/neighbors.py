"""How the neighbors of each sentence differ between two models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from clusterns.vectors.nearest import Rows, Vectors

NEAREST = 10
CANDIDATES = 5000


@dataclass(frozen=True)
class NeighborChange:
    """The number of nearest neighbors that each sentence has in common under two models.

    Attributes:
        k: number of nearest neighbors compared.
        shared: (n,) number of neighbors that both models share.
        order: the most changed sentences, most changed first.
    """

    k: int
    shared: NDArray[np.int64]
    order: list[int]

    @property
    def histogram(self) -> list[int]:
        """Number of sentences that share 0, 1, ... k neighbors."""
        return np.bincount(self.shared, minlength=self.k + 1).tolist()


def count_shared(first: Rows, second: Rows) -> NDArray[np.int64]:
    """Count the entries that the rows of two (n, k) tables share, excluding -1: (n,)."""
    same = (first[:, :, None] == second[:, None, :]) & (first[:, :, None] >= 0)
    return same.any(axis=2).sum(axis=1)


def compare_neighbors(
    now: Rows, before: Rows, vectors: Vectors, limit: int = 1000
) -> NeighborChange:
    """Compare the neighbors of all sentences under two models.

    Ties are broken by how much farther away the old neighbors are than the new ones.

    Args:
        now: (n, >= k) neighbors under the model.
        before: (n, >= k) neighbors under the model to compare with.
        vectors: (n, d) unit vectors of the model.
        limit: maximum number of changed sentences to list.
    """
    k = min(NEAREST, now.shape[1], before.shape[1])
    now, before = now[:, :k], before[:, :k]
    shared = count_shared(now, before)
    # Only sentences that could be listed are compared more closely.
    candidates = np.argsort(shared, kind="stable")[:CANDIDATES]
    gaps = np.array(
        [
            _mean_cosine(row, now[row], vectors) - _mean_cosine(row, before[row], vectors)
            for row in candidates
        ]
    )
    order = candidates[np.lexsort((candidates, -gaps, shared[candidates]))]
    return NeighborChange(k, shared, order[:limit].tolist())


def _mean_cosine(row: int, others: Rows, vectors: Vectors) -> float:
    found = others[others >= 0]
    here, there = (np.asarray(vectors[rows], dtype=np.float32) for rows in (row, found))
    return float((there @ here).mean()) if len(found) else 0.0


def mark_changes(now: list[int], before: list[int]) -> tuple[list[str], list[str]]:
    """Mark current neighbors as kept or gained, and previous ones as kept or lost."""
    return (
        ["kept" if row in before else "gained" for row in now],
        ["kept" if row in now else "lost" for row in before],
    )
