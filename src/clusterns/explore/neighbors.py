"""How the neighbourhood of each sentence differs between two models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clusterns.vectors.nearest import Rows, Vectors

NEAREST = 10
CHUNK = 4096
CANDIDATES = 5000


@dataclass(frozen=True)
class Change:
    """What became of the nearest neighbours that sentences had with another model.

    Attributes:
        k: how many nearest neighbours are looked at.
        kept: (n,) how many of them are the same with both models.
        order: the sentences where most changed, the most first.
    """

    k: int
    kept: NDArray[np.int64]
    order: list[int]

    @property
    def histogram(self) -> list[int]:
        """How many sentences kept 0, 1, ... k neighbours."""
        return np.bincount(self.kept, minlength=self.k + 1).tolist()


def kept_neighbours(first: Rows, second: Rows) -> NDArray[np.int64]:
    """How many entries the rows of two (n, k) tables of neighbours share; -1 is no entry: (n,)."""
    counts = [
        (
            (first[start : start + CHUNK, :, None] == second[start : start + CHUNK, None, :])
            & (first[start : start + CHUNK, :, None] >= 0)
        )
        .any(axis=2)
        .sum(axis=1)
        for start in range(0, len(first), CHUNK)
    ]
    return np.concatenate(counts) if counts else np.zeros(0, dtype=np.int64)


def find_change(now: Rows, before: Rows, vectors: Vectors, most: int = 1000) -> Change:
    """Compare the neighbours of all sentences with two models.

    Where the same number was kept, a sentence comes first whose old neighbours are now further
    away from it than the new ones are.

    Args:
        now: (n, >= k) neighbours with the model.
        before: (n, >= k) neighbours with the model to compare with.
        vectors: (n, d) unit vectors of the model.
        most: how many of the most changed sentences to list.
    """
    k = min(NEAREST, now.shape[1], before.shape[1])
    now, before = now[:, :k], before[:, :k]
    kept = kept_neighbours(now, before)
    # Only as many as could be listed are compared more closely.
    candidates = np.argsort(kept, kind="stable")[:CANDIDATES]
    gaps = np.array([_gap(row, now[row], before[row], vectors) for row in candidates])
    order = candidates[np.lexsort((candidates, -gaps, kept[candidates]))]
    return Change(k, kept, order[:most].tolist())


def _gap(row: int, now: Rows, before: Rows, vectors: Vectors) -> float:
    """How much nearer the new neighbours of a sentence are than its old ones, for the new model."""
    here = np.asarray(vectors[row], dtype=np.float32)
    means = [
        float((np.asarray(vectors[rows[rows >= 0]], dtype=np.float32) @ here).mean())
        if (rows >= 0).any()
        else 0.0
        for rows in (now, before)
    ]
    return means[0] - means[1]


def marks(now: list[int], before: list[int]) -> tuple[list[str], list[str]]:
    """For the neighbours now: kept or gained; for those before: kept or lost."""
    return (
        ["kept" if row in before else "gained" for row in now],
        ["kept" if row in now else "lost" for row in before],
    )
