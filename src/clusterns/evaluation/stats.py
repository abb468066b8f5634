"""A paired bootstrap: all models are measured on the same resampled examples.

A resample is a vector of counts: how often each example was drawn. Ranks are computed from the counts,
without sorting each resample, which would take most of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Clusters = NDArray[np.intp]
Measure = Callable[[Floats], Floats]
LEVEL = 0.05
N_RESAMPLES = 1000


def generator(seed: int, key: str) -> np.random.Generator:
    """A generator for each set, since sets of equal size must not share their resamples."""
    return np.random.default_rng([seed, *key.encode()])


def spearman_measure(predictions: Floats, gold: Floats) -> Measure:
    """Counts (n,) to Spearman's correlation x100 of each column of (n, models) with (n,) gold."""
    groups = [np.unique(column, return_inverse=True)[1] for column in (*predictions.T, gold)]

    def measure(counts: Floats) -> Floats:
        total = counts.sum()
        ranks = np.stack([_mean_ranks(group, counts) for group in groups])
        ranks -= (ranks @ counts / total)[:, None]
        weighted = ranks * counts
        lengths = np.sqrt((weighted * ranks).sum(axis=1))
        products = weighted[:-1] @ ranks[-1]
        scale = lengths[:-1] * lengths[-1]
        return 100 * np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)

    return measure


def mean_measure(predictions: Floats) -> Measure:
    """Counts (n,) to the mean of each column of (n, models), x100: accuracies, mean nDCG."""
    return lambda counts: 100 * (counts @ predictions) / counts.sum()


def bootstrap(
    measure: Measure,
    examples: int,
    n_resamples: int,
    random: np.random.Generator,
    clusters: Clusters | None = None,
) -> Floats:
    """Measure all models on resampled examples.

    Args:
        measure: counts (n,) to a score for each model.
        examples: number of examples.
        n_resamples: number of resamples.
        random: the source of randomness.
        clusters: (n,) the cluster of each example, numbered from 0: the examples of a cluster
            depend on each other and are drawn together. None: all are independent.

    Returns:
        (n_resamples + 1, models); the first row is the measure on the original examples.
    """
    clusters = np.arange(examples) if clusters is None else clusters
    count = int(clusters.max()) + 1
    found = [measure(np.ones(examples))]
    for _ in range(n_resamples):
        drawn = np.bincount(random.integers(count, size=count), minlength=count)
        found.append(measure(drawn[clusters].astype(np.float64)))
    return np.array(found)


def interval(gaps: Floats, clusters: int, comparisons: int = 1) -> tuple[float, float]:
    """The 95 % interval of a difference, from the standard error over the resamples and Student's t.

    Args:
        gaps: (n_resamples + 1,) the difference, first on the original examples.
        clusters: number of independent clusters that were resampled.
        comparisons: number of intervals that hold simultaneously (Bonferroni).
    """
    from scipy.stats import t

    level = LEVEL / max(1, comparisons)
    reach = float(t.ppf(1 - level / 2, max(1, clusters - 1)) * gaps[1:].std(ddof=1))
    return float(gaps[0]) - reach, float(gaps[0]) + reach


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted by Holm's step-down method."""
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    stepped = np.maximum.accumulate(np.asarray(p_values)[order] * factors)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1, stepped)
    return [float(value) for value in adjusted]


def _mean_ranks(group: NDArray[np.intp], counts: Floats) -> Floats:
    """The rank of each row among the drawn ones; ties share their mean rank."""
    sizes = np.bincount(group, weights=counts)
    return (np.cumsum(sizes) - (sizes - 1) / 2)[group]
