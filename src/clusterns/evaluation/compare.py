"""Which differences between models are significant: a paired bootstrap over the examples of each set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from clusterns.console import bar
from clusterns.errors import UserError
from clusterns.evaluation.catalog import AVERAGED, MissingData
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.results import Results, SetResult
from clusterns.evaluation.stats import (
    LEVEL,
    N_RESAMPLES,
    Clusters,
    Floats,
    accuracy_measure,
    bootstrap,
    generator,
    holm,
    interval_and_p,
    spearman_measure,
)
from clusterns.evaluation.tables import AVERAGE
from clusterns.tables import Table

FEWEST_RESAMPLES = 100


class Gold(NamedTuple):
    """The gold scores of a set of pairs, and which pairs share sentences."""

    scores: Floats
    clusters: Clusters


@dataclass(frozen=True)
class Difference:
    """How much better ``first`` is than ``second``, in points.

    The 95 % interval and the p-value of no difference are over the examples of the set. They hold
    for these two models and ignore variance across training seeds. ``adjusted`` is the p-value
    adjusted for all comparisons that were made with it.
    """

    suite: str
    name: str
    first: str
    second: str
    points: float
    low: float
    high: float
    p: float
    adjusted: float

    @property
    def significant(self) -> bool:
        """Whether no difference is rejected at 5 %, all comparisons taken together."""
        return self.adjusted <= LEVEL

    def plain(self) -> dict[str, Any]:
        """As it goes to JSON."""
        return asdict(self) | {"significant": self.significant}


@dataclass(frozen=True)
class Comparison:
    """All differences that were tested together, and why other sets were not tested."""

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

    Args:
        models: with their predictions.
        gold: the gold scores of sets of pairs, by the key of the predictions (``sts/STS12``).
        n_resamples: of the bootstrap. The cost grows with it and with the number of models.
        seed: of the resampling.
        progress: whether to draw a bar.
    """
    if n_resamples < FEWEST_RESAMPLES:
        raise UserError(
            f"--rounds {n_resamples}: a standard error needs at least {FEWEST_RESAMPLES} resamples."
        )
    keys = [
        key
        for key in comparable(models)
        if key.startswith("transfer/") or (key in gold and gold[key].clusters.max() > 0)
    ]
    # By suite and set: the scores of all models on every resample, and how many clusters there are.
    samples: dict[str, dict[str, tuple[Floats, int]]] = {}
    for key in bar(keys, desc="Resample", unit="set", shown=progress):
        predictions = np.column_stack(
            [model.predictions[key].astype(np.float64) for model in models]
        )
        examples, clusters = len(predictions), None
        measure = accuracy_measure(predictions)
        if key in gold:
            measure, clusters = spearman_measure(predictions, gold[key].scores), gold[key].clusters
        count = examples if clusters is None else int(clusters.max()) + 1
        found = bootstrap(measure, examples, n_resamples, generator(seed, key), clusters)
        suite, name = key.split("/", 1)
        samples.setdefault(suite, {})[name] = found, count
    for suite, sets in samples.items():
        names = AVERAGED.get(suite, ())
        if names and set(names) <= sets.keys():
            mean = np.mean([sets[name][0] for name in names], axis=0)
            sets[AVERAGE] = mean, min(sets[name][1] for name in names)
    tests = []
    for suite, sets in samples.items():
        for first, second in combinations(range(len(models)), 2):
            names = models[first].name, models[second].name
            for name, (sample, count) in sets.items():
                gaps = sample[:, first] - sample[:, second]
                tests.append((suite, name, *names, float(gaps[0]), *interval_and_p(gaps, count)))
    adjusted = holm([test[-1] for test in tests])
    differences = [Difference(*test, p) for test, p in zip(tests, adjusted, strict=True)]
    return Comparison(differences, n_resamples, _untested(models, gold, keys))


def _untested(
    models: Sequence[Results], gold: Mapping[str, Gold], tested: Sequence[str]
) -> list[str]:
    """Why sets that all models were evaluated on are not tested."""
    first, *others = models
    reasons: dict[str, list[str]] = {}
    for suite, result in first.suites.items():
        for name, one in result.sets.items():
            key = f"{suite}/{name}"
            digests = {digest_in(model, key) for model in others}
            if not others or key in tested or None in digests:
                continue
            if digests != {one.digest}:
                reason = "the models were evaluated on different examples"
            elif not all(key in model.predictions for model in models):
                reason = "there are no per-example predictions"
            elif key in gold:
                reason = "all of its pairs are connected by shared sentences"
            else:
                reason = "the gold scores were not found (--data), or are not those of the models"
            reasons.setdefault(reason, []).append(name)
    return [f"Not tested: {', '.join(names)} ({reason})." for reason, names in reasons.items()]


def comparable(models: Sequence[Results]) -> list[str]:
    """The keys of the predictions that all models made on the same examples."""
    first, *others = models
    found = []
    for suite, result in first.suites.items():
        for name, one in result.sets.items():
            key = f"{suite}/{name}"
            if all(key in m.predictions and digest_in(m, key) == one.digest for m in models):
                found.append(key)
    return found if others else []


def digest_in(model: Results, key: str) -> str | None:
    """The digest of the examples that a model's predictions belong to."""
    found = _set_in(model, key)
    return found.digest if found else None


def _set_in(model: Results, key: str) -> SetResult | None:
    suite, label = key.split("/", 1)
    return model.suites[suite].sets.get(label) if suite in model.suites else None


def gold_scores(models: Sequence[Results], find: Callable[[str], ScoredPairs]) -> dict[str, Gold]:
    """The gold scores of the sets of pairs that can be compared, where they can be found.

    The scores of benchmarks are others' work and do not go into result files: they are read again.
    """
    gold: dict[str, Gold] = {}
    for key in comparable(models):
        suite = key.split("/", 1)[0]
        if suite == "own":
            kept = [m.predictions for m in models if f"gold/{key}" in m.predictions]
            if kept:
                scores = kept[0][f"gold/{key}"].astype(np.float64)
                # Older results do not say which pairs share sentences.
                clusters = kept[0].get(f"clusters/{key}", np.arange(len(scores)))
                gold[key] = Gold(scores, clusters)
        elif suite == "sts":
            try:
                found = _set_in(models[0], key)
                pairs = find(found.name) if found else None
            except MissingData:
                pairs = None
            if pairs is not None and pairs.digest == digest_in(models[0], key):
                gold[key] = Gold(pairs.scores, pairs.clusters)
    return gold


def difference_table(comparison: Comparison) -> Table:
    """A row for every two models and suite: the average, and where the difference is significant."""
    columns = ["average", "95 % CI", "p", "significant on", "not significant on"]
    table = Table("Differences between these models, not between methods (points)", columns)
    groups: dict[tuple[str, str, str], list[Difference]] = {}
    for one in comparison.differences:
        groups.setdefault((one.suite, one.first, one.second), []).append(one)
    for (suite, first, second), group in groups.items():
        sets = [one for one in group if one.name != AVERAGE]
        cells: list[float | str | None] = [None, None, None]
        for one in group:
            if one.name == AVERAGE or len(group) == 1:
                p = f"{one.adjusted:.3f}" if one.adjusted >= 0.001 else "< 0.001"
                cells = [f"{one.points:+.2f}", f"{one.low:+.2f} to {one.high:+.2f}", p]
        for wanted in (True, False):
            named = [f"{one.name} {one.points:+.1f}" for one in sets if one.significant == wanted]
            cells.append(", ".join(named))
        table.rows.append((f"{suite}: {first} over {second}", cells))
    table.notes += [
        "These are differences between single models. They ignore variance across training seeds, so "
        "they do not show that one method is better than another: train both with several seeds "
        "(`clusterns lab`).",
        f"Paired bootstrap over the examples of each set, {comparison.n_resamples:,} resamples; pairs "
        "that share a sentence are drawn together. Two-sided p-values from the standard error, "
        f"adjusted by Holm's method for all {len(comparison.differences)} comparisons; significant at "
        f"{100 * LEVEL:.0f} %. Each interval is for one comparison.",
        *comparison.notes,
    ]
    return table
