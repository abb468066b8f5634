"""Differences between models: a paired bootstrap over the examples of each set, with simultaneous intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from clusterns.console import bar
from clusterns.errors import UserError
from clusterns.evaluation.catalog import MissingData
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.results import Results, SetResult, averaged_sets, searches
from clusterns.evaluation.stats import (
    LEVEL,
    N_RESAMPLES,
    Clusters,
    Floats,
    bootstrap,
    generator,
    interval,
    mean_measure,
    spearman_measure,
)
from clusterns.evaluation.tables import AVERAGE
from clusterns.tables import Table

MIN_RESAMPLES = 100
SPEARMAN = "Spearman"


class Gold(NamedTuple):
    """The gold scores of a set of pairs, and which pairs share sentences."""

    scores: Floats
    clusters: Clusters


@dataclass(frozen=True)
class Difference:
    """By how many points ``first`` is better than ``second``.

    The interval is over the examples of the set. It ignores variance across training seeds, and is
    simultaneous with those of all comparisons of the same call.
    """

    suite: str
    name: str
    first: str
    second: str
    points: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval does not contain 0."""
        return self.low > 0 or self.high < 0

    def plain(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return asdict(self) | {"excludes_zero": self.excludes_zero}


@dataclass(frozen=True)
class Comparison:
    """All differences that were estimated together, and the reasons why other sets were not compared."""

    differences: list[Difference]
    n_resamples: int
    notes: list[str]


def find_differences(
    models: Sequence[Results],
    gold: Mapping[str, Gold],
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    progress: bool = False,
) -> Comparison:
    """Compare every two models on every set that all have predictions for, and on the averages.

    The ways of searching a collection are compared like models. All models are measured on each resample
    at once, so the cost grows with their number, not with that of the comparisons.

    Args:
        models: results with predictions.
        gold: the gold scores of sets of pairs, by the key of the predictions (``sts/STS12``).
        n_resamples: number of bootstrap resamples.
        seed: random seed of the resampling.
        progress: whether to show a progress bar.
    """
    if n_resamples < MIN_RESAMPLES:
        raise UserError(
            f"{n_resamples} resamples are too few: a standard error needs at least {MIN_RESAMPLES}."
        )
    tests: list[tuple[str, str, str, str, Floats, int]] = []
    reasons: dict[str, list[str]] = {}
    for group in (models, searches(models)):
        # By suite and set: the scores of all models on every resample, and the number of clusters.
        samples: dict[str, dict[str, tuple[Floats, int]]] = {}
        shared = shared_sets(group)
        for key in bar(shared, desc="Resample", unit="set", shown=progress):
            suite, name = key.split("/", 1)
            if (
                group is models and suite == "retrieval"
            ):  # the ways of searching come after the models
                continue
            if reason := _why_not(group, key, shared[key], gold):
                reasons.setdefault(reason, []).append(name)
            else:
                found = _resample(group, key, gold.get(key), n_resamples, seed)
                samples.setdefault(suite, {})[name] = found
        for suite, sets in samples.items():
            names = averaged_sets(suite, [*sets])
            if names:
                mean = np.mean([sets[name][0] for name in names], axis=0)
                sets[AVERAGE] = mean, min(sets[name][1] for name in names)
            for (i, first), (j, second) in combinations(enumerate(group), 2):
                for name, (sample, clusters) in sets.items():
                    gaps = sample[:, i] - sample[:, j]
                    tests.append((suite, name, first.name, second.name, gaps, clusters))
    differences = [
        Difference(
            suite, name, first, second, float(gaps[0]), *interval(gaps, clusters, len(tests))
        )
        for suite, name, first, second, gaps, clusters in tests
    ]
    notes = [f"Not compared: {', '.join(names)} ({reason})." for reason, names in reasons.items()]
    return Comparison(differences, n_resamples, notes)


def shared_sets(models: Sequence[Results]) -> dict[str, list[SetResult]]:
    """Sets that all models were evaluated on, by the key of their predictions, with each model's result."""
    found: dict[str, list[SetResult]] = {}
    for model in models:
        for suite, result in model.suites.items():
            for label, one in result.sets.items():
                found.setdefault(f"{suite}/{label}", []).append(one)
    return {key: sets for key, sets in found.items() if len(sets) == len(models) > 1}


def _why_not(
    models: Sequence[Results], key: str, sets: Sequence[SetResult], gold: Mapping[str, Gold]
) -> str | None:
    """The reason why the models cannot be compared on a shared set; None if they can."""
    if len({one.digest for one in sets}) > 1:
        return "the models were evaluated on different examples"
    if not all(key in model.predictions for model in models):
        return "there are no per-example predictions"
    if sets[0].metric == SPEARMAN and key not in gold:
        return "the gold scores were not found (--data), or are not those of the models"
    if sets[0].metric == SPEARMAN and gold[key].clusters.max() == 0:
        return "all of its pairs are connected by shared sentences"
    return None


def _resample(
    models: Sequence[Results], key: str, gold: Gold | None, n_resamples: int, seed: int
) -> tuple[Floats, int]:
    """(n_resamples + 1, models) scores, and the number of clusters that were resampled."""
    predictions = np.column_stack([model.predictions[key].astype(np.float64) for model in models])
    clusters = np.arange(len(predictions)) if gold is None else gold.clusters
    measure = (
        mean_measure(predictions) if gold is None else spearman_measure(predictions, gold.scores)
    )
    random = generator(seed, key)
    sample = bootstrap(measure, len(predictions), n_resamples, random, clusters)
    return sample, int(clusters.max()) + 1


def gold_scores(models: Sequence[Results], find: Callable[[str], ScoredPairs]) -> dict[str, Gold]:
    """The gold scores of the pairs that all models were evaluated on, if they can be found.

    The gold scores of benchmarks are others' work and are not stored in result files, so they are read again.
    """
    gold: dict[str, Gold] = {}
    for key, sets in shared_sets(models).items():
        suite = key.split("/", 1)[0]
        if suite == "own":
            kept = [m.predictions for m in models if f"gold/{key}" in m.predictions]
            if kept:
                scores = kept[0][f"gold/{key}"].astype(np.float64)
                # Older results do not record which pairs share sentences.
                clusters = kept[0].get(f"clusters/{key}", np.arange(len(scores)))
                gold[key] = Gold(scores, clusters)
        elif suite == "sts":
            with suppress(MissingData):
                pairs = find(sets[0].name)
                if pairs.digest == sets[0].digest:
                    gold[key] = Gold(pairs.scores, pairs.clusters)
    return gold


def difference_table(comparison: Comparison) -> Table:
    """A row for each pair of models and suite: the average, and the sets whose interval excludes or includes zero."""
    columns = ["average", "95 % interval", "interval excludes zero on", "interval includes zero on"]
    table = Table("Differences between these models, not between methods (points)", columns)
    groups: dict[tuple[str, str, str], list[Difference]] = {}
    for one in comparison.differences:
        groups.setdefault((one.suite, one.first, one.second), []).append(one)
    for (suite, first, second), group in groups.items():
        cells: list[float | str | None] = [None, None, "", ""]
        named: dict[bool, list[str]] = {True: [], False: []}
        for one in group:
            if one.name == AVERAGE or len(group) == 1:
                cells[:2] = f"{one.points:+.2f}", f"{one.low:+.2f} to {one.high:+.2f}"
            if one.name != AVERAGE:
                shown = f"{one.name} {one.points:+.1f} ({one.low:+.1f} to {one.high:+.1f})"
                named[one.excludes_zero].append(shown)
        cells[2:] = ", ".join(named[True]), ", ".join(named[False])
        table.rows.append((f"{suite}: {first} over {second}", cells))
    table.notes += [
        "These are differences between single models. They ignore variance across training seeds, so "
        "they do not show that one method is better than another: train both with several seeds "
        "(`clusterns lab`).",
        f"Paired bootstrap over the examples of each set, {comparison.n_resamples:,} resamples; pairs "
        "that share a sentence are drawn together. The intervals hold together: the chance that any of "
        f"the {len(comparison.differences)} misses its difference is at most {100 * LEVEL:.0f} % (Bonferroni).",
        *comparison.notes,
    ]
    return table
