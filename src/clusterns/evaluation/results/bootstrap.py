"""A paired bootstrap: all models measured on the same resampled rows, again and again.

A resample is a vector of counts, how often each row was drawn: ranks follow from the counts
without sorting anew, which is what takes the time otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Measure = Callable[[Floats], Floats]
LEVEL = 0.05
# The least p-value that the resamples can give, as a part of the strictest corrected level.
MARGIN = 10
LEAST_ROUNDS = 1000


def generator(seed: int, key: str) -> np.random.Generator:
    """A generator for each set: sets of equal size must not share their resamples."""
    return np.random.default_rng([seed, *key.encode()])


def spearman_measure(answers: Floats, gold: Floats) -> Measure:
    """Counts (n,) to Spearman's correlation x100 of each column of (n, models) with (n,) gold."""
    groups = [np.unique(column, return_inverse=True)[1] for column in (*answers.T, gold)]

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


def accuracy_measure(right: Floats) -> Measure:
    """Counts (n,) to the share of right rows in each column of (n, models), x100."""
    return lambda counts: 100 * (counts @ right) / counts.sum()


def bootstrap(measure: Measure, rows: int, rounds: int, random: np.random.Generator) -> Floats:
    """Measure all models on resampled rows.

    Returns:
        (rounds + 1, models); the first row is the measure on the rows as they are.
    """
    found = [measure(np.ones(rows))]
    for _ in range(rounds):
        drawn = random.integers(rows, size=rows)
        found.append(measure(np.bincount(drawn, minlength=rows).astype(np.float64)))
    return np.array(found)


def two_sided_p(gaps: Floats) -> float:
    """The p-value of no difference, from resampled differences: (rounds,).

    The level at which the percentile interval just touches zero. The sample itself counts as one
    more resample, so that it is never 0.
    """
    side = min((gaps <= 0).sum(), (gaps >= 0).sum())
    return float(min(1.0, 2 * (side + 1) / (len(gaps) + 1)))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number by Holm's step-down method."""
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    stepped = np.maximum.accumulate(np.asarray(p_values)[order] * factors)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1, stepped)
    return [float(value) for value in adjusted]


def least_rounds(comparisons: int) -> int:
    """The fewest rounds whose least p-value reaches the strictest of Holm's levels."""
    return math.ceil(2 * comparisons / LEVEL) - 1


def enough_rounds(comparisons: int) -> int:
    """Rounds whose least p-value lies well below the strictest of Holm's levels."""
    return max(LEAST_ROUNDS, MARGIN * (least_rounds(comparisons) + 1))


def _mean_ranks(group: NDArray[np.intp], counts: Floats) -> Floats:
    """The rank of each row among the drawn ones, ties sharing their mean."""
    sizes = np.bincount(group, weights=counts)
    return (np.cumsum(sizes) - (sizes - 1) / 2)[group]
