"""The tables of results: one suite of one or more models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from clusterns.evaluation.results.results import (
    AVERAGED,
    LOWER_IS_BETTER,
    Results,
    SuiteResult,
)
from clusterns.tables import Table

AVERAGE = "Avg."
TITLES = {
    "sts": "STS (Spearman x100)",
    "transfer": "Transfer (accuracy)",
    "clustering": "Clustering (accuracy; DBpedia: AMI x100)",
    "geometry": "Geometry (lower is better)",
    "own": "Own sets",
    "mteb": "MTEB (main score x100)",
}

Published = Mapping[str, Mapping[str, float]]


def suite_table(
    suite: str,
    models: Sequence[tuple[str, SuiteResult]],
    published: Published | None = None,
) -> Table:
    """One suite of one or more models side by side, below published rows where they are given."""
    names = list(dict.fromkeys(name for _, result in models for name in result.sets))
    table = Table(
        TITLES.get(suite, suite),
        list(names),
        lower_is_better=suite in LOWER_IS_BETTER,
        digits=3 if suite == "geometry" else 2,
    )
    for label, numbers in (published or {}).items():
        if any(name in numbers for name in names):
            table.rows.append((f"{label} (paper)", [numbers.get(name) for name in names]))
            table.spreads.append([None] * len(names))
    for label, result in models:
        sets = [result.sets.get(name) for name in names]
        table.rows.append((label, [one.value if one else None for one in sets]))
        table.spreads.append([one.spread if one else None for one in sets])
    if suite in AVERAGED:
        _add_average(table, suite, models, published or {})
    if suite == "own":
        metrics = {name: one.metric for _, r in models for name, one in r.sets.items()}
        table.columns = [f"{name} ({metrics[name]})" for name in names]
    _add_notes(table, models)
    return table


def _add_average(
    table: Table, suite: str, models: Sequence[tuple[str, SuiteResult]], published: Published
) -> None:
    """Append the mean over the sets that all models have; DBpedia's AMI stays out of it.

    A published row keeps its printed average where that is over the same sets.
    """
    names = [name for name in table.columns if not name.startswith("DBpedia")]
    shared = [name for name in names if all(name in result.sets for _, result in models)]
    places = [table.columns.index(name) for name in shared]
    if not places:
        return
    table.columns.append(AVERAGE)
    printed = {f"{label} (paper)": numbers for label, numbers in published.items()}
    for (label, values), spreads in zip(table.rows, table.spreads, strict=True):
        numbers = [value for place in places if isinstance(value := values[place], int | float)]
        average = sum(numbers) / len(numbers) if len(numbers) == len(places) else None
        if set(printed.get(label, ())) - {"DBpedia"} == {*shared, AVERAGE}:
            average = printed[label][AVERAGE]
        values.append(average)
        spreads.append(None)
    if shared != names or set(shared) != set(AVERAGED[suite]):
        table.notes.append(f"{AVERAGE}: over {', '.join(shared)}.")


def _add_notes(table: Table, models: Sequence[tuple[str, SuiteResult]]) -> None:
    missing = dict.fromkeys(name for _, result in models for name in result.missing)
    if missing:
        table.notes.append(f"Not evaluated: {', '.join(missing)}.")
    cut: dict[str, float] = {}
    for _, result in models:
        for name, one in result.sets.items():
            cut[name] = max(one.truncated, cut.get(name, 0))
    rates = [f"{name} {100 * rate:.2g} %" for name, rate in cut.items() if rate > 0]
    if rates:
        table.notes.append(f"Sentences longer than a model reads: {', '.join(rates)}.")


def results_tables(
    models: Sequence[Results], published: Callable[[str], Published] = lambda suite: {}
) -> list[Table]:
    """A table for each suite that any of the models has."""
    suites = dict.fromkeys(name for model in models for name in model.suites)
    return [
        suite_table(
            suite,
            [(m.name, m.suites[suite]) for m in models if suite in m.suites],
            published(suite),
        )
        for suite in suites
    ]
