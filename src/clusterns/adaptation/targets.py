"""Target embeddings of a text: closer to their topics, or closer between titles and documents."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax
from sklearn.cluster import KMeans

from clusterns.adaptation.settings import TopicSettings
from clusterns.vectors.nearest import Vectors, all_nearest, unit

# Smaller clusters, on average, say little about topics.
TEXTS_PER_CLUSTER = 4
BLOCK = 4096


def smooth(vectors: Vectors, settings: TopicSettings, progress: bool = False) -> Vectors:
    """Move each of (n, d) vectors toward its neighbors and its topic; returns (n, d) unit vectors.

    A vector goes halfway to the mean of its nearest neighbors, weighted by similarity, and then toward
    the K-means centroids, weighted by a softmax.
    """
    own = targets = unit(vectors)
    if settings.neighbors and len(own) > 1:
        scores, rows = all_nearest(own, settings.neighbors, progress)
        weights = np.maximum(scores, 0) ** settings.similarity_power
        total = weights.sum(1, keepdims=True)
        weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
        # In blocks, since each row needs k vectors.
        means = [
            np.einsum("nk,nkd->nd", weights[part], own[rows[part]])
            for part in np.array_split(np.arange(len(own)), len(own) // BLOCK + 1)
        ]
        targets = unit(own + np.concatenate(means))
    count = min(settings.clusters, len(own) // TEXTS_PER_CLUSTER)
    if settings.centroid_weight and count > 1:
        found = KMeans(count, n_init=1, random_state=settings.seed).fit(own)
        centroids = unit(found.cluster_centers_)
        shares = softmax(own @ centroids.T / settings.centroid_temperature, axis=1)
        targets = unit(targets + settings.centroid_weight * shares @ centroids)
    return targets


def within_document_whitening(
    vectors: Vectors, titles: Vectors, bodies: Vectors, *, shrinkage: float
) -> Vectors:
    """Map (n, d) vectors so that titles come closer to their documents; returns unit vectors.

    With S the mean of ``(u - v) (u - v)^T`` over the titles u and the documents v, scaled to a mean variance of
    1, x becomes ``(S + shrinkage)^(-1/2) x``: a direction in which titles often differ from their documents
    says little about which document a title belongs to.

    Args:
        vectors: (n, d).
        titles: (m, d) vectors of titles or first sentences.
        bodies: (m, d) vectors of their documents.
        shrinkage: shrinkage toward the identity; larger values change less.
    """
    differences = (titles - bodies).astype(np.float64)
    covariance = differences.T @ differences
    # If titles and documents are identical, every direction keeps its weight.
    covariance *= len(covariance) / (np.trace(covariance) or 1)
    variances, directions = np.linalg.eigh(covariance)
    # Rounding may put a variance slightly below 0.
    scales = (np.maximum(variances, 0) + shrinkage) ** -0.5
    return unit((vectors @ (directions * scales) @ directions.T).astype(vectors.dtype))
