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
from clusterns.evaluation.tables import published_rows
from clusterns.lab.experiment import Experiment
from clusterns.lab.outcomes import Line

MARGIN = 0.3  # points: a difference whose interval lies within it is none
PERMUTED_SEEDS = 6  # the least number with which a sign-flip permutation can reach 5 %
RESAMPLES = 2**16  # up to 16 seeds, all sign flips are tried and the p-value is exact
Interval = tuple[float, float]


@dataclass(frozen=True)
class Difference:
    """By how much ``first`` is better than ``second``, over the seeds that both have."""

    first: str
    second: str
    by_seed: Mapping[int, float]
    missing_seeds: int = 0
    """How many seeds one of the two rows has not finished."""
    family: str = ""
    """Comparisons of a family are corrected together."""
    paper: float | None = None
    """The difference that the paper reports."""
    interval: Interval | None = None
    """95 % t-interval; None with a single seed, as all that follows."""
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
        """As tables show it."""
        return f"{self.first} over {self.second}"

    @property
    def estimate(self) -> float:
        """The mean paired difference."""
        return float(np.mean(list(self.by_seed.values())))

    @property
    def verdicts(self) -> list[str]:
        """What the design calls the outcome; several can hold."""
        found = []
        if self.adjusted_p is not None and self.adjusted_p < LEVEL:
            found.append("shown" if self.estimate > 0 else "shown to be false")
        if self.narrow_interval is not None and max(map(abs, self.narrow_interval)) < MARGIN:
            found.append("equivalent")
        if self.interval and self.paper is not None and self.interval[1] < self.paper:
            found.append("excludes the paper's effect")
        return found or ["undecided"]


def find_differences(experiment: Experiment, lines: Sequence[Line]) -> list[Difference]:
    """Compare the pairs of rows that an experiment names and that have a seed in common."""
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
    if not by_seed:
        return None
    planned = {*one, *ours.missing} & {*other, *theirs.missing}
    return Difference(
        ours.label, theirs.label, by_seed, len(planned - by_seed.keys()),
        paper=_in_the_paper(experiment, ours, theirs),
    )  # fmt: skip


def _in_the_paper(experiment: Experiment, ours: Line, theirs: Line) -> float | None:
    """The difference of the paper's rows, on the same column."""
    table = experiment.table
    rows = published_rows(table.published or table.suite or "")
    columns = {value: name for name, value in table.columns.items()}
    column = columns.get(experiment.compare_by, experiment.compare_by.split("/")[-1])
    first, second = (rows.get(line.paper_row or "", {}) for line in (ours, theirs))
    return first[column] - second[column] if column in first and column in second else None


def _tested(one: Difference) -> Difference:
    """With what a paired t-test says of it, and a sign-flip permutation."""
    values = np.array(list(one.by_seed.values()))
    if len(values) < 2:
        return one
    from scipy.stats import permutation_test, ttest_rel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of differences that are all equal
        test = ttest_rel(values, np.zeros_like(values))
    wide, narrow = (test.confidence_interval(level) for level in (0.95, 0.9))
    permutation = None
    if len(values) >= PERMUTED_SEEDS:
        permutation = float(
            permutation_test(
                (values,), lambda x, axis: np.mean(x, axis=axis), permutation_type="samples",
                vectorized=True, n_resamples=RESAMPLES, rng=np.random.default_rng(0),
            ).pvalue
        )  # fmt: skip
    # Rows that are the same in every seed have no p-value.
    p = 1.0 if math.isnan(test.pvalue) else float(test.pvalue)
    return replace(
        one, p=p, permutation_p=permutation, interval=(float(wide.low), float(wide.high)),
        narrow_interval=(float(narrow.low), float(narrow.high)),
    )  # fmt: skip
