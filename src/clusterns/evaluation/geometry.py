"""The shape of an embedding space: alignment, uniformity, anisotropy."""

from __future__ import annotations

import numpy as np

from clusterns.errors import UserError
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.vectors.embed import Embedder
from clusterns.vectors.nearest import Vectors, unit

POSITIVE_ABOVE = 4.0
CHUNK = 1024


def alignment(first: Vectors, second: Vectors) -> float:
    """Mean squared distance of the two sides of positive pairs, unit vectors; lower is better."""
    return float(((first.astype(np.float64) - second) ** 2).sum(axis=1).mean())


def uniformity(vectors: Vectors) -> float:
    """log of the mean of exp(-2 |x - y|^2) over all pairs of unit vectors; lower is better."""
    rows = vectors.astype(np.float64)
    total, squares = 0.0, (rows**2).sum(axis=1)
    for start in range(0, len(rows), CHUNK):
        part = slice(start, start + CHUNK)
        distances = squares[part, None] + squares[None] - 2 * rows[part] @ rows.T
        total += float(np.exp(-2 * np.maximum(distances, 0)).sum())
    pairs = len(rows) * (len(rows) - 1)
    return float(np.log((total - len(rows)) / pairs))


def anisotropy(vectors: Vectors) -> float:
    """Mean cosine over all pairs of different unit vectors (exact, without sampling)."""
    rows = vectors.astype(np.float64)
    same = float((rows**2).sum())
    return (float((rows.sum(axis=0) ** 2).sum()) - same) / (len(rows) * (len(rows) - 1))


def geometry_of(embed: Embedder, pairs: ScoredPairs) -> dict[str, float]:
    """The three numbers of a model on scored pairs (0 to 5)."""
    positive = np.flatnonzero(pairs.scores > POSITIVE_ABOVE).tolist()
    if not positive:
        raise UserError(f"{pairs.name} has no pair with a score above {POSITIVE_ABOVE}.")
    sides = (pairs.sentences1, pairs.sentences2)
    first, second = (unit(embed([side[i] for i in positive])) for side in sides)
    rows = unit(embed(list(dict.fromkeys(pairs.sentences))))
    return {
        "alignment": alignment(first, second),
        "uniformity": uniformity(rows),
        "anisotropy": anisotropy(rows),
    }
