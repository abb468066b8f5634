"""The results of a search by words and by vectors, joined into one ranking."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DEPTH = 100  # results of each side that are joined


def largest_first(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """The positions of the ``k`` highest of (n,) scores, best first; equal ones in their order."""
    k = min(k, len(scores))
    if k == 0:
        return np.zeros(0, dtype=np.int64)
    # All that equal the last one, so that which of them are taken depends on their order alone.
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    found = np.flatnonzero(scores >= least)
    return found[np.argsort(-scores[found], kind="stable")][:k]


def fuse(*sides: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale each side's (n,) scores of the same candidates to 0-1 and average them.

    Unlike reciprocal rank fusion, this keeps the distances within a list. A side that gives all
    candidates the same score adds nothing.
    """
    return np.mean([_scaled(scores) for scores in sides], axis=0)


def _scaled(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    low, high = scores.min(initial=np.inf), scores.max(initial=-np.inf)
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)
