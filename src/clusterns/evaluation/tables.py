"""The tables of results: one suite of one or more models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
import yaml

from clusterns.evaluation.catalog import CATALOG
from clusterns.evaluation.results import (
    LOWER_IS_BETTER,
    Results,
    SetResult,
    SuiteResult,
    averaged_sets,
    searches,
)
from clusterns.tables import Table

AVERAGE = "Avg."
TITLES = CATALOG.suites | {"own": "Own sets", "mteb": "MTEB (main score x100)"}
MEASURES = ("nDCG@10", "MRR@10", "recall@100")  # of retrieval
Published = Mapping[str, Mapping[str, float]]


def suite_table(
    suite: str,
    models: Sequence[tuple[str, SuiteResult]],
    published: Published | None = None,
    measure: str = "",
) -> Table:
    """One suite of one or more models side by side, after published rows, if there are any.

    A table of retrieval shows one ``measure``.
    """
    names = list(dict.fromkeys(name for _, result in models for name in result.sets))
    table = Table(
        f"Retrieval ({measure} x100)" if measure else TITLES.get(suite, suite),
        list(names),
        lower_is_better=suite in LOWER_IS_BETTER,
        digits=3 if suite == "geometry" else 2,
    )
    averages: list[float | None] = []
    for label, numbers in (published or {}).items():
        if any(name in numbers for name in names):
            table.rows.append((f"{label} (paper)", [numbers.get(name) for name in names]))
            table.spreads.append([None] * len(names))
            averages.append(numbers.get(AVERAGE))  # the paper prints its own average
    averaged = averaged_sets(suite, names)
    has_average = False
    for label, result in models:
        values = {name: _value(one, measure) for name, one in result.sets.items()}
        table.rows.append((label, [values.get(name) for name in names]))
        table.spreads.append([result.sets[n].spread if n in values else None for n in names])
        found = [number for name in averaged if (number := values.get(name)) is not None]
        complete = bool(averaged) and len(found) == len(averaged)
        averages.append(float(np.mean(found)) if complete else None)
        has_average |= complete
    if has_average:
        table.columns.append(AVERAGE)
        for (_, row), spreads, value in zip(table.rows, table.spreads, averages, strict=True):
            row.append(value)
            spreads.append(None)
        table.notes.append(f"{AVERAGE}: the mean of {', '.join(averaged)}.")
    if suite == "own":
        metrics = {name: one.metric for _, r in models for name, one in r.sets.items()}
        table.columns = [f"{name} ({metrics[name]})" for name in names]
    if measure in ("", MEASURES[0]):
        _add_notes(table, [result for _, result in models])
    return table


def _value(one: SetResult, measure: str) -> float | None:
    return one.value if measure in ("", one.metric) else one.details.get(measure.lower())


def _add_notes(table: Table, results: Sequence[SuiteResult]) -> None:
    missing = dict.fromkeys(name for result in results for name in result.missing)
    if missing:
        table.notes.append(f"Not evaluated: {', '.join(missing)}.")
    if any(one.spread is not None for result in results for one in result.sets.values()):
        runs = sorted({int(result.settings.get("kmeans_seeds", 0)) for result in results} - {0})
        table.notes.append(
            f"±: standard deviation over {' or '.join(map(str, runs))} K-means runs."
        )
    truncated: dict[str, float] = {}
    for result in results:
        for name, one in result.sets.items():
            truncated[name] = max(one.truncated, truncated.get(name, 0))
    rates = [f"{name} {100 * rate:.2g} %" for name, rate in truncated.items() if rate > 0]
    if rates:
        table.notes.append(f"Sentences longer than a model reads: {', '.join(rates)}.")


def results_tables(
    models: Sequence[Results], published: Callable[[str], Published] = lambda suite: {}
) -> list[Table]:
    """A table for each suite that any model has; for retrieval, one for each measure."""
    tables = []
    for suite in dict.fromkeys(name for model in models for name in model.suites):
        is_retrieval = suite == "retrieval"
        rows = searches(models) if is_retrieval else models
        results = [(model.name, model.suites[suite]) for model in rows if suite in model.suites]
        for measure in MEASURES if is_retrieval else ("",):
            tables.append(suite_table(suite, results, published(suite), measure))
    return tables


@cache
def published_rows(name: str) -> dict[str, dict[str, float]]:
    """The paper's rows of a suite or of another table by name, as numbers by column; none for
    suites without a table."""
    text = (files("clusterns.evaluation") / "published.yaml").read_text("utf-8")
    table = yaml.safe_load(text).get(name, {"columns": [], "rows": {}})
    return {
        label: {c: n for c, n in zip(table["columns"], numbers, strict=True) if n is not None}
        for label, numbers in table["rows"].items()
    }
