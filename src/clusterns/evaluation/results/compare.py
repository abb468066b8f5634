"""Which differences between models are real: a paired bootstrap over the rows of each set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from clusterns.evaluation.data.find import MissingData
from clusterns.evaluation.data.sets import ScoredPairs
from clusterns.evaluation.results.results import Results
from clusterns.evaluation.results.tables import AVERAGE
from clusterns.tables import Table

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """How much better ``first`` is than ``second``, in points, with a 95 % interval.

    The interval says where the difference would lie on other rows of the same kind. It knows
    nothing of how much a method moves between training seeds.
    """

    suite: str
    name: str
    first: str
    second: str
    points: float
    low: float
    high: float

    @property
    def real(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0


def spearman_columns(cosines: Floats, gold: Floats) -> Floats:
    """Spearman's correlation of each column of (n, models) with (n,) gold scores, x100."""
    ranks = rankdata(np.column_stack([cosines, gold]), axis=0)
    ranks -= ranks.mean(axis=0)
    lengths = np.sqrt((ranks**2).sum(axis=0))
    products = ranks[:, -1] @ ranks[:, :-1]
    scale = lengths[:-1] * lengths[-1]
    return 100 * np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)


def accuracy_columns(right: Floats, _: Floats) -> Floats:
    """The share of right rows in each column, x100."""
    return 100 * right.mean(axis=0)


def bootstrap(
    answers: Floats,
    gold: Floats,
    measure: Callable[[Floats, Floats], Floats],
    rounds: int,
    seed: int,
) -> Floats:
    """Measure all models on the same resampled rows, again and again.

    Args:
        answers: (n, models).
        gold: (n,).
        measure: (n, models), (n,) to (models,).
        rounds: how many resamples.
        seed: of the resampling.

    Returns:
        (rounds + 1, models); the first row is the measure on the real rows.
    """
    random = np.random.default_rng(seed)
    rows = [measure(answers, gold)]
    for _ in range(rounds):
        picked = random.integers(len(gold), size=len(gold))
        rows.append(measure(answers[picked], gold[picked]))
    return np.array(rows)


def find_differences(
    models: Sequence[Results],
    gold: Mapping[str, Floats],
    rounds: int = 1000,
    seed: int = 0,
) -> list[Difference]:
    """Compare every two models on every set that all have answers for, and on the averages.

    Args:
        models: with their row-by-row answers.
        gold: the gold scores of sets of pairs, by the key of the answers (``sts/STS12``).
        rounds: bootstrap resamples.
        seed: of the resampling.
    """
    samples: dict[str, dict[str, Floats]] = {}
    for key in comparable(models):
        answers = np.column_stack([model.items[key].astype(np.float64) for model in models])
        suite, name = key.split("/", 1)
        if suite == "transfer":
            found = bootstrap(answers, answers[:, 0], accuracy_columns, rounds, seed)
        elif key in gold:
            found = bootstrap(answers, gold[key], spearman_columns, rounds, seed)
        else:
            continue
        samples.setdefault(suite, {})[name] = found
    return [
        difference
        for suite, sets in samples.items()
        for difference in _differences_of(suite, sets, [model.name for model in models])
    ]


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
            gold[key] = models[0].items[f"gold/{key}"]
        elif suite == "sts":
            try:
                pairs = find(name)
            except MissingData:
                pairs = None
            if pairs is not None and pairs.digest == digest_in(models[0], key):
                gold[key] = pairs.scores
            else:
                without.append(name)
    return gold, without


def _differences_of(
    suite: str, sets: Mapping[str, Floats], names: Sequence[str]
) -> list[Difference]:
    tables = dict(sets)
    if len(sets) > 1:
        tables[AVERAGE] = np.mean(list(sets.values()), axis=0)
    found = []
    for first in range(len(names)):
        for second in range(first + 1, len(names)):
            for name, sample in tables.items():
                gap = sample[:, first] - sample[:, second]
                low, high = np.percentile(gap[1:], [2.5, 97.5])
                found.append(
                    Difference(
                        suite,
                        name,
                        names[first],
                        names[second],
                        float(gap[0]),
                        float(low),
                        float(high),
                    )
                )
    return found


def difference_table(differences: Sequence[Difference]) -> Table:
    """A row for every two models and suite: the average's interval, and where it is real."""
    table = Table("Differences (points)", ["on average", "95 % interval", "real on", "not on"])
    groups: dict[tuple[str, str, str], list[Difference]] = {}
    for one in differences:
        groups.setdefault((one.suite, one.first, one.second), []).append(one)
    for (suite, first, second), group in groups.items():
        whole, sets = group[-1], [one for one in group if one.name != AVERAGE]
        cells: list[float | str | None] = [
            f"{whole.points:+.2f}{'' if whole.real else ' (not real)'}",
            f"{whole.low:+.2f} to {whole.high:+.2f}",
            ", ".join(f"{one.name} {one.points:+.1f}" for one in sets if one.real),
            ", ".join(f"{one.name} {one.points:+.1f}" for one in sets if not one.real),
        ]
        table.rows.append((f"{suite}: {first} over {second}", cells))
    table.notes.append(
        "Paired bootstrap over the rows of each set: real where the 95 % interval leaves out 0. "
        "Training seeds are another source of chance."
    )
    return table
