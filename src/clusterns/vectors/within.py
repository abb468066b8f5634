"""Vectors with less of what differs within a document, so that its sentences find each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clusterns.vectors.nearest import Vectors, unit


def whitened_within(vectors: Vectors, documents: NDArray[np.int64], *, shrinkage: float) -> Vectors:
    """The (n, d) vectors, of length 1, in the metric of how sentences differ within their documents.

    With S the covariance of the sentences about the means of their documents, scaled to a mean variance of
    1, a vector x becomes ``(S + shrinkage)^(-1/2) x``, of length 1: a direction in which sentences of one
    document differ much says little about which document they are of. Sentences that are alone in theirs say
    nothing of it.

    Args:
        vectors: (n, d).
        documents: (n) the document of each.
        shrinkage: towards leaving all directions alike; infinitely much leaves the vectors as they are.
    """
    _, own, sizes = np.unique(documents, return_inverse=True, return_counts=True)
    sums = np.zeros((len(sizes), vectors.shape[1]))
    np.add.at(sums, own, vectors)
    apart = (vectors - (sums / sizes[:, None])[own])[sizes[own] > 1]
    within = apart.T @ apart
    # Where nothing differs, nothing is known, and all directions go on to count alike.
    within *= len(within) / (np.trace(within) or 1)
    variances, directions = np.linalg.eigh(within)
    # What is lost to rounding may lie a little below 0.
    scales = (np.maximum(variances, 0) + shrinkage) ** -0.5
    return unit((vectors @ (directions * scales) @ directions.T).astype(vectors.dtype))
