"""Differences between rows, paired by seed: the estimate with its interval first, the verdict second.

``docs/design-of-experiments.md`` defines the test and the verdicts.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clusterns.evaluation.results import LOWER_IS_BETTER
from clusterns.evaluation.stats import LEVEL, holm
from clusterns.lab.experiment import Experiment
from clusterns.lab.outcomes import Line

MARGIN = 0.3  # points: an interval within ± this margin shows equivalence
DESCRIPTIVE = "descriptive"  # the family whose pairs get an interval, but no test and no verdict
PERMUTED_SEEDS = 6  # the smallest number with which a sign-flip permutation test can reach 5 %
RESAMPLES = 2**16  # up to 16 seeds, all sign flips are tried and the p-value is exact
Interval = tuple[float, float]


@dataclass(frozen=True)
class Difference:
    """By how much ``first`` is better than ``second``, over the seeds that both have."""

    first: str
    second: str
    by_seed: Mapping[int, float]
    missing_seeds: int = 0
    """Number of seeds that at least one of the two rows has not finished."""
    family: str = ""
    """Comparisons of a family are corrected together."""
    paper: float | None = None
    """The difference that the paper reports."""
    interval: Interval | None = None
    """95 % t-interval. This and all following fields are None with a single seed."""
    narrow_interval: Interval | None = None
    """90 % t-interval, for equivalence."""
    p: float | None = None
    """Two-sided p of a paired t-test."""
    adjusted_p: float | None = None
    """Corrected by Holm's method within the family."""
    permutation_p: float | None = None
    """Two-sided p over all sign flips; None with fewer than six seeds."""

    @property
    def name(self) -> str:
        """The label in tables."""
        return f"{self.first} over {self.second}"

    @property
    def estimate(self) -> float:
        """The mean paired difference."""
        return float(np.mean(list(self.by_seed.values())))

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the paired differences."""
        return float(np.std(list(self.by_seed.values()), ddof=1)) if len(self.by_seed) > 1 else None

    @property
    def verdicts(self) -> list[str]:
        """The verdicts of the design; several can hold."""
        if self.family == DESCRIPTIVE:
            return [DESCRIPTIVE]
        found = []
        if self.adjusted_p is not None and self.adjusted_p < LEVEL:
            found.append("shown" if self.estimate > 0 else "shown to be false")
        if self.narrow_interval is not None and max(map(abs, self.narrow_interval)) < MARGIN:
            found.append("equivalent")
        if self.interval and self.paper is not None and self.interval[1] < self.paper:
            found.append("excludes the paper's effect")
        return found or ["undecided"]


def find_differences(experiment: Experiment, lines: Sequence[Line]) -> list[Difference]:
    """Compare the pairs of rows of an experiment's `compare` that have a seed in common."""
    by_label = {line.label: line for line in lines}
    found = []
    for family, pairs in experiment.compare.items():
        group = []
        for first, second in pairs:
            ours, theirs = by_label.get(first), by_label.get(second)
            if ours is not None and theirs is not None:
                one = _difference(experiment, ours, theirs)
                if one is not None:
                    group.append(_tested(replace(one, family=family)))
        adjusted = iter(holm([one.p for one in group if one.p is not None]))
        found += [
            one if one.p is None else replace(one, adjusted_p=next(adjusted)) for one in group
        ]
    return found


def _difference(experiment: Experiment, ours: Line, theirs: Line) -> Difference | None:
    value = experiment.compare_by
    sign = -1 if value.split("/")[0] in LOWER_IS_BETTER else 1
    one, other = ours.values(value), theirs.values(value)
    by_seed = {seed: sign * (one[seed] - other[seed]) for seed in sorted(one.keys() & other.keys())}
    # If all runs of a row ended as their base, it has no scores of its own.
    if not by_seed or ours.is_base or theirs.is_base:
        return None
    planned = {*one, *ours.missing} & {*other, *theirs.missing}
    first, second = (experiment.published.get(line.paper_row or "", {}) for line in (ours, theirs))
    paper = first[value] - second[value] if value in first and value in second else None
    missing = len(planned - by_seed.keys())
    return Difference(ours.label, theirs.label, by_seed, missing, paper=paper)


def _tested(one: Difference) -> Difference:
    """Add the intervals and the p-values of the paired t-test and the sign-flip permutation test."""
    values = np.array(list(one.by_seed.values()))
    if len(values) < 2:
        return one
    from scipy.stats import permutation_test, ttest_rel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # if all differences are equal
        test = ttest_rel(values, np.zeros_like(values))
    wide, narrow = (test.confidence_interval(level) for level in (0.95, 0.9))
    one = replace(one, interval=(float(wide.low), float(wide.high)))
    one = replace(one, narrow_interval=(float(narrow.low), float(narrow.high)))
    if one.family == DESCRIPTIVE:
        return one
    if len(values) >= PERMUTED_SEEDS:
        permuted = permutation_test(
            (values,), lambda x, axis: np.mean(x, axis=axis), permutation_type="samples",
            vectorized=True, n_resamples=RESAMPLES, rng=np.random.default_rng(0),
        )  # fmt: skip
        one = replace(one, permutation_p=float(permuted.pvalue))
    # The test gives NaN for rows that are equal in every seed.
    return replace(one, p=1.0 if math.isnan(test.pvalue) else float(test.pvalue))


def seeds_needed(
    deviation: float,
    difference: float = 0.7,
    power: float = 0.8,
    minimum: int = 8,
    maximum: int = 20,
) -> int:
    """The smallest number of seeds with which a two-sided paired t-test detects a difference, by the design's rule.

    Args:
        deviation: standard deviation of the paired differences.
        difference: the difference to detect.
        power: the probability of detecting it.
        minimum: smallest result.
        maximum: largest result.
    """
    from scipy.stats import nct, t

    for n in range(minimum, maximum):
        reach = t.ppf(1 - LEVEL / 2, n - 1)
        shift = difference / deviation * math.sqrt(n)
        if nct.sf(reach, n - 1, shift) + nct.cdf(-reach, n - 1, shift) >= power:
            return n
    return maximum
