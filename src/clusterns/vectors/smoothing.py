"""Vectors drawn towards what they are among: their neighbours, and the topics of the text."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from clusterns.vectors.nearest import Vectors, all_nearest, unit

# A cluster of fewer texts than this on average says little about topics.
TEXTS_A_CLUSTER = 4
BLOCK = 4096


def smoothed(
    vectors: Vectors,
    *,
    neighbours: int = 10,
    power: float = 3.0,
    clusters: int = 50,
    pull: float = 0.5,
    temperature: float = 0.05,
    seed: int = 0,
    progress: bool = False,
) -> Vectors:
    """Smoothed (n, d) vectors of length 1.

    Each is drawn halfway to the mean of its nearest neighbours, weighted by their similarity, and then
    towards the centroids of a K-means over all vectors, weighted by a softmax.

    Args:
        vectors: (n, d), any length.
        neighbours: how many of them.
        power: of the similarity in a neighbour's weight.
        clusters: number of centroids; fewer where there is little text.
        pull: weight of the centroids; 0 leaves them out.
        temperature: of the softmax over the centroids.
        seed: of K-means.
        progress: whether to show a bar.
    """
    own = unit(vectors)
    targets = own
    if neighbours and len(own) > 1:
        scores, rows = all_nearest(own, neighbours, progress)
        weights = np.maximum(scores, 0) ** power
        total = weights.sum(1, keepdims=True)
        weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
        # In blocks: k vectors for each of a few rows at once.
        means = [
            np.einsum("nk,nkd->nd", weights[part], own[rows[part]])
            for part in np.array_split(np.arange(len(own)), len(own) // BLOCK + 1)
        ]
        targets = unit(own + np.concatenate(means))
    count = min(clusters, len(own) // TEXTS_A_CLUSTER)
    if pull and count > 1:
        centroids = unit(KMeans(count, n_init=1, random_state=seed).fit(own).cluster_centers_)
        logits = own @ centroids.T / temperature
        shares = np.exp(logits - logits.max(1, keepdims=True))
        targets = unit(targets + pull * (shares / shares.sum(1, keepdims=True)) @ centroids)
    return targets
