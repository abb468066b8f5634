"""Which differences between models are significant: paired tests over the rows of each set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from clusterns.console import bar
from clusterns.errors import UserError
from clusterns.evaluation.data.catalogue import hub_name
from clusterns.evaluation.data.find import MissingData
from clusterns.evaluation.data.sets import ScoredPairs
from clusterns.evaluation.results.bootstrap import (
    LEVEL,
    Floats,
    accuracy_measure,
    bootstrap,
    enough_rounds,
    generator,
    holm,
    least_rounds,
    spearman_measure,
    two_sided_p,
)
from clusterns.evaluation.results.results import Results
from clusterns.evaluation.results.tables import AVERAGE
from clusterns.tables import Table


@dataclass(frozen=True)
class Difference:
    """How much better ``first`` is than ``second``, in points.

    The 95 % interval and the p-value of no difference are over the rows of the set, as if others
    of the same kind had been drawn. They know nothing of how much a method moves between training
    seeds. ``adjusted`` is the p-value adjusted for all comparisons that were made with it.
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
    """All differences that were tested together, and by how many resamples."""

    differences: list[Difference]
    rounds: int


def find_differences(
    models: Sequence[Results],
    gold: Mapping[str, Floats],
    rounds: int | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Comparison:
    """Compare every two models on every set that all have answers for, and on the averages.

    Args:
        models: with their row-by-row answers.
        gold: the gold scores of sets of pairs, by the key of the answers (``sts/STS12``).
        rounds: resamples. None: enough for the number of comparisons.
        seed: of the resampling.
        progress: whether to draw a bar.
    """
    keys = [key for key in comparable(models) if key.startswith("transfer/") or key in gold]
    suites = [key.split("/", 1)[0] for key in keys]
    averages = sum(suites.count(suite) > 1 for suite in set(suites))
    pairs = list(combinations(range(len(models)), 2))
    rounds = _checked_rounds(rounds, len(pairs) * (len(keys) + averages))
    samples: dict[str, dict[str, Floats]] = {}
    for key in bar(keys, desc="Resample", unit="set", shown=progress):
        answers = np.column_stack([model.items[key].astype(np.float64) for model in models])
        measure = spearman_measure(answers, gold[key]) if key in gold else accuracy_measure(answers)
        suite, name = key.split("/", 1)
        found = bootstrap(measure, len(answers), rounds, generator(seed, key))
        samples.setdefault(suite, {})[name] = found
    tests = []
    for suite, sets in samples.items():
        tables = sets if len(sets) == 1 else sets | {AVERAGE: np.mean(list(sets.values()), axis=0)}
        for first, second in pairs:
            names = models[first].name, models[second].name
            for name, sample in tables.items():
                gaps = sample[:, first] - sample[:, second]
                low, high = np.percentile(gaps[1:], [2.5, 97.5])
                numbers = float(gaps[0]), float(low), float(high), two_sided_p(gaps[1:])
                tests.append((suite, name, *names, *numbers))
    adjusted = holm([test[-1] for test in tests])
    differences = [Difference(*test, p) for test, p in zip(tests, adjusted, strict=True)]
    return Comparison(differences, rounds)


def _checked_rounds(rounds: int | None, comparisons: int) -> int:
    if rounds is None:
        return enough_rounds(comparisons)
    if rounds < least_rounds(comparisons):
        raise UserError(
            f"--rounds {rounds}: for {comparisons} comparisons {least_rounds(comparisons)} are "
            "needed before any difference can be significant; leave it out for enough of them."
        )
    return rounds


def comparable(models: Sequence[Results]) -> list[str]:
    """The keys of the answers that all models gave to the same rows."""
    first, *others = models
    found = []
    for suite, result in first.suites.items():
        for name, one in result.sets.items():
            key = f"{suite}/{name}"
            if all(key in m.items and digest_in(m, key) == one.digest for m in models):
                found.append(key)
    return found if others else []


def digest_in(model: Results, key: str) -> str | None:
    """The digest of the rows that a model's answers belong to."""
    suite, name = key.split("/", 1)
    sets = model.suites[suite].sets if suite in model.suites else {}
    return sets[name].digest if name in sets else None


def gold_scores(
    models: Sequence[Results], find: Callable[[str], ScoredPairs]
) -> tuple[dict[str, Floats], list[str]]:
    """The gold scores of the sets of pairs that can be compared, and which were not to be had.

    Benchmarks' scores are others' work and do not go into result files: they are read again.
    """
    gold: dict[str, Floats] = {}
    without = []
    for key in comparable(models):
        suite, name = key.split("/", 1)
        if suite == "own":
            kept = [m.items[f"gold/{key}"] for m in models if f"gold/{key}" in m.items]
            if kept:
                gold[key] = kept[0].astype(np.float64)
            else:
                without.append(name)
        elif suite == "sts":
            try:
                pairs = find(name.removesuffix(hub_name("")))
            except MissingData:
                pairs = None
            if pairs is not None and pairs.digest == digest_in(models[0], key):
                gold[key] = pairs.scores
            else:
                without.append(name)
    return gold, without


def difference_table(comparison: Comparison) -> Table:
    """A row for every two models and suite: the average's interval, and where it is significant."""
    columns = ["on average", "95 % CI", "p", "significant on", "not significant on"]
    table = Table("Differences (points)", columns)
    least = two_sided_p(np.ones(comparison.rounds))
    groups: dict[tuple[str, str, str], list[Difference]] = {}
    for one in comparison.differences:
        groups.setdefault((one.suite, one.first, one.second), []).append(one)
    for (suite, first, second), group in groups.items():
        whole, sets = group[-1], [one for one in group if one.name != AVERAGE]
        cells: list[float | str | None] = [
            f"{whole.points:+.2f}",
            f"{whole.low:+.2f} to {whole.high:+.2f}",
            # Where no resample lies on the other side of 0, only a bound is known.
            f"{'≤ ' if whole.p <= least else ''}{whole.adjusted:.3f}",
            ", ".join(f"{one.name} {one.points:+.1f}" for one in sets if one.significant),
            ", ".join(f"{one.name} {one.points:+.1f}" for one in sets if not one.significant),
        ]
        table.rows.append((f"{suite}: {first} over {second}", cells))
    table.notes.append(
        f"Paired bootstrap over the rows of each set, {comparison.rounds:,} resamples. Two-sided "
        f"p-values, adjusted by Holm's method for all {len(comparison.differences)} comparisons; "
        f"significant at {100 * LEVEL:.0f} %. The intervals are of one comparison each. Rows are the only "
        "chance in it: training seeds are another."
    )
    return table
