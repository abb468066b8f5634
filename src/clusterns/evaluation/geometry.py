"""The shape of an embedding space: alignment, uniformity, anisotropy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clusterns.errors import UserError
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.vectors.embed import Embedder, Vectors

POSITIVE_ABOVE = 4.0
CHUNK = 1024


def normalise(vectors: Vectors) -> NDArray[np.float64]:
    """Rows of length one; a zero row stays zero."""
    rows = vectors.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def alignment(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Mean squared distance of the two sides of positive pairs; lower is better."""
    return float(((first - second) ** 2).sum(axis=1).mean())


def uniformity(rows: NDArray[np.float64]) -> float:
    """log of the mean of exp(-2 |x - y|^2) over all pairs of rows; lower is better."""
    total, squares = 0.0, (rows**2).sum(axis=1)
    for start in range(0, len(rows), CHUNK):
        part = slice(start, start + CHUNK)
        distances = squares[part, None] + squares[None] - 2 * rows[part] @ rows.T
        total += float(np.exp(-2 * np.maximum(distances, 0)).sum())
    pairs = len(rows) * (len(rows) - 1)
    return float(np.log((total - len(rows)) / pairs))


def anisotropy(rows: NDArray[np.float64]) -> float:
    """Mean cosine over all pairs of different rows, which is what random pairs estimate."""
    same = float((rows**2).sum())
    return (float((rows.sum(axis=0) ** 2).sum()) - same) / (len(rows) * (len(rows) - 1))


def geometry_of(embed: Embedder, pairs: ScoredPairs) -> dict[str, float]:
    """The three numbers of a model on scored pairs (0 to 5)."""
    positive = np.flatnonzero(pairs.scores > POSITIVE_ABOVE).tolist()
    if not positive:
        raise UserError(f"{pairs.name} has no pair with a score above {POSITIVE_ABOVE}.")
    rows = normalise(embed(list(dict.fromkeys(pairs.sentences))))
    first = normalise(embed([pairs.sentences1[i] for i in positive]))
    second = normalise(embed([pairs.sentences2[i] for i in positive]))
    return {
        "alignment": alignment(first, second),
        "uniformity": uniformity(rows),
        "anisotropy": anisotropy(rows),
    }
