"""Whether a difference between two lines is more than chance: over seeds, and over rows of the sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from clusterns.console import bar
from clusterns.evaluation.compare import comparable, gold_scores
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.results import Results, read_results
from clusterns.evaluation.stats import (
    Floats,
    bootstrap,
    enough_rounds,
    generator,
    holm,
    mean_measure,
    spearman_measure,
    two_sided_p,
)
from clusterns.evaluation.tables import AVERAGE
from clusterns.lab.outcomes import Line

RESAMPLES = 2**16  # up to 16 seeds, all sign changes are tried and the p-value is exact
FindPairs = Callable[[str], ScoredPairs]


@dataclass(frozen=True)
class Difference:
    """How much better ``first`` is than ``second``, over the seeds that both have.

    None where there is nothing to test: a single seed, or a value without answers row by row.
    """

    first: str
    second: str
    points: float
    seeds: int
    p_seeds: float | None = None
    adjusted_seeds: float | None = None
    low: float | None = None
    high: float | None = None
    p_rows: float | None = None
    adjusted_rows: float | None = None
    rounds: int = 0
    seeds_rows: int = 0
    """Of how many seeds both have their answers row by row at hand."""
    points_rows: float | None = None
    """The difference over these seeds alone, which the interval belongs to."""

    def plain(self) -> dict[str, Any]:
        """As it goes to JSON."""
        return asdict(self)


def least_p(seeds: int) -> float:
    """The smallest two-sided p of a paired permutation test over so many seeds."""
    return min(1.0, 2 / 2**seeds)


def permutation_p(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Two-sided p of no difference: the signs of the paired differences changed in all ways."""
    if len(first) < 2:
        return None
    from scipy.stats import permutation_test

    found = permutation_test(
        (np.array(first), np.array(second)),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(0),
    )
    return float(found.pvalue)


def find_differences(
    compare: Sequence[tuple[str, str]], value: str, lines: Sequence[Line], find: FindPairs
) -> list[Difference]:
    """Test every pair of lines that has at least one seed in common, corrected for their number.

    Args:
        compare: labels, the one that should win first.
        value: that is compared, such as ``sts/Avg.``.
        lines: what was found.
        find: the scored pairs of a set by its name.
    """
    by_label = {line.label: line.values(value) for line in lines}
    found = []
    for first, second in compare:
        one, other = by_label.get(first, {}), by_label.get(second, {})
        seeds = sorted(one.keys() & other.keys())
        if seeds:
            ours, theirs = [one[seed] for seed in seeds], [other[seed] for seed in seeds]
            points = float(np.mean(ours) - np.mean(theirs))
            p = permutation_p(ours, theirs)
            found.append(Difference(first, second, points, len(seeds), p))
    return _corrected(_over_rows(found, value, lines, find))


def _corrected(differences: list[Difference]) -> list[Difference]:
    over_seeds = _adjusted([one.p_seeds for one in differences])
    over_rows = _adjusted([one.p_rows for one in differences])
    return [
        replace(one, adjusted_seeds=seeds, adjusted_rows=rows)
        for one, seeds, rows in zip(differences, over_seeds, over_rows, strict=True)
    ]


def _adjusted(p_values: Sequence[float | None]) -> list[float | None]:
    """P-values adjusted by Holm's method for the number of those that were tested."""
    adjusted = iter(holm([p for p in p_values if p is not None]))
    return [None if p is None else next(adjusted) for p in p_values]


def _over_rows(
    differences: list[Difference], value: str, lines: Sequence[Line], find: FindPairs
) -> list[Difference]:
    """Add what a paired bootstrap says: all models of all seeds on the same resampled rows."""
    suite, _, name = value.partition("/")
    wanted = {label for one in differences for label in (one.first, one.second)}
    models = {
        (line.label, one.seed): read_results(one.predictions)[0]
        for line in lines
        if line.label in wanted
        for one in line.outcomes
        if one.predictions is not None and suite in one.result["suites"]
    }
    keys = [f"{suite}/{name}"] if name != AVERAGE else _answered_by_most(models.values(), suite)
    models = {label: one for label, one in models.items() if one.predictions.keys() >= set(keys)}
    samples = _samples(list(models.values()), keys, enough_rounds(len(differences)), find)
    if samples is None:
        return differences
    columns = {key: samples[:, place] for place, key in enumerate(models)}
    return [_with_rows(one, columns) for one in differences]


def _answered_by_most(models: Iterable[Results], suite: str) -> list[str]:
    """The sets that an average is over, by what most models have answered; a model that lacks some is
    left out, not the test."""
    found: Counter[tuple[str, ...]] = Counter()
    for model in models:
        own = [key for key in model.predictions if key.startswith(f"{suite}/")]
        found[tuple(key for key in own if not key.startswith(f"{suite}/DBpedia"))] += 1
    most = sorted(found, key=lambda keys: (found[keys], len(keys)))
    return list(most[-1]) if most else []


def _samples(
    models: Sequence[Results], keys: Sequence[str], rounds: int, find: FindPairs
) -> Floats | None:
    """The value of every model on every resample: (rounds + 1, models)."""
    if len(models) < 2:
        return None
    gold = gold_scores(models, find)
    testable = {key for key in comparable(models) if key.startswith("transfer/") or key in gold}
    if not keys or not set(keys) <= testable:
        return None  # an average over fewer sets would be another value
    total: Floats | None = None
    for key in bar(keys, desc="Resample", unit="set"):
        answers = np.column_stack([model.predictions[key].astype(np.float64) for model in models])
        measure, clusters = mean_measure(answers), None
        if key in gold:
            measure, clusters = spearman_measure(answers, gold[key].scores), gold[key].clusters
        found = bootstrap(measure, len(answers), rounds, generator(0, key), clusters)
        total = found if total is None else total + found
    return None if total is None else total / len(keys)


def _with_rows(one: Difference, columns: Mapping[tuple[str, int], Floats]) -> Difference:
    """The mean over the seeds that both have, on every resample."""
    seeds = [
        seed for label, seed in columns if label == one.first and (one.second, seed) in columns
    ]
    if not seeds:
        return one
    gaps = np.mean([columns[one.first, s] - columns[one.second, s] for s in seeds], axis=0)
    low, high = np.percentile(gaps[1:], [2.5, 97.5])
    return replace(
        one, low=float(low), high=float(high), p_rows=two_sided_p(gaps[1:]), rounds=len(gaps) - 1,
        seeds_rows=len(seeds), points_rows=float(gaps[0]),
    )  # fmt: skip
