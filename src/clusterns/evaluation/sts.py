"""Semantic textual similarity: Spearman's correlation of cosines with people's scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from clusterns.evaluation.embed import Embedder, Vectors
from clusterns.evaluation.sets import ScoredPairs


def pair_cosines(first: Vectors, second: Vectors) -> NDArray[np.float64]:
    """The cosine of each row of one matrix with the same row of the other: (n,).

    A zero vector (no known word) has cosine 0 with everything, as in SentEval.
    """
    a, b = first.astype(np.float64), second.astype(np.float64)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    products = np.einsum("ij,ij->i", a, b)
    return np.divide(products, lengths, out=np.zeros(len(a)), where=lengths > 0)


def spearman(cosines: NDArray[np.float64], scores: NDArray[np.float64]) -> float:
    """Spearman's correlation; 0 where all cosines are equal, which orders nothing."""
    return float(spearmanr(cosines, scores).statistic) if np.ptp(cosines) > 0 else 0.0


def cosines_of(embed: Embedder, pairs: ScoredPairs) -> NDArray[np.float64]:
    """The cosine of each pair under a model."""
    embed(pairs.sentences)
    return pair_cosines(embed(pairs.sentences1), embed(pairs.sentences2))
