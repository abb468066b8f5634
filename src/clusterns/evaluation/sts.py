"""Semantic textual similarity: Spearman's correlation of cosines with human scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from clusterns.evaluation.datasets import ScoredPairs
from clusterns.vectors.embed import Embedder, Vectors


def pair_cosines(first: Vectors, second: Vectors) -> NDArray[np.float64]:
    """The cosine of each row of one matrix with the same row of the other: (n,).

    Computed one row at a time in single precision, as in SentEval: pairs with the same words have cosines
    that differ in the last bit only, and another order of summation would rank them differently
    (which changes STS12 by 2e-5). A zero vector (no known word) has cosine 0 with everything.
    """
    products = np.array([np.dot(a, b) for a, b in zip(first, second, strict=True)])
    lengths = np.array(
        [np.linalg.norm(a) * np.linalg.norm(b) for a, b in zip(first, second, strict=True)]
    )
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return cosines.astype(np.float64)


def spearman(cosines: NDArray[np.float64], scores: NDArray[np.float64]) -> float:
    """Spearman's correlation; 0 if all cosines are equal, since there is no ranking then."""
    return float(spearmanr(cosines, scores).statistic) if np.ptp(cosines) > 0 else 0.0


def cosines_of(embed: Embedder, pairs: ScoredPairs) -> NDArray[np.float64]:
    """The cosine of each pair under a model."""
    embed(pairs.sentences)  # one pass over both sides fills the cache for the next two calls
    return pair_cosines(embed(pairs.sentences1), embed(pairs.sentences2))
