"""Clustering: K-means on the embeddings against the true classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from clusterns.errors import UserError
from clusterns.evaluation.datasets import CLUSTERING_ACCURACY
from clusterns.vectors.embed import Vectors

Labels = NDArray[np.int64]


def hungarian_accuracy(truth: Labels, clusters: Labels) -> float:
    """The fraction of correct rows under the best one-to-one match of clusters to classes."""
    table = contingency_matrix(truth, clusters)
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / len(truth))


def adjusted_mutual_information(truth: Labels, clusters: Labels) -> float:
    """Agreement of two labelings: 1 if they are equal, about 0 for random ones."""
    return float(adjusted_mutual_info_score(truth, clusters))


def cluster(vectors: Vectors, count: int, seed: int) -> Labels:
    """One K-means run: (n, d) vectors to (n,) cluster numbers."""
    if len(vectors) < count:
        raise UserError(f"{len(vectors)} texts cannot make {count} clusters.")
    means = KMeans(count, n_init=1, random_state=seed).fit(vectors)
    return means.labels_.astype(np.int64)


def cluster_seeds(vectors: Vectors, count: int, seeds: Sequence[int]) -> list[Labels]:
    """One K-means run per seed, since the result depends on the initialization."""
    return [cluster(vectors, count, seed) for seed in seeds]


MEASURES: dict[str, Callable[[Labels, Labels], float]] = {
    CLUSTERING_ACCURACY: hungarian_accuracy,
    "AMI": adjusted_mutual_information,
}
