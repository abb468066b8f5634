"""The tables of results: one suite of one or more models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
import yaml

from clusterns.evaluation.catalog import AVERAGED
from clusterns.evaluation.results import (
    LOWER_IS_BETTER,
    Results,
    SuiteResult,
    average,
    averaged_sets,
    searches,
)
from clusterns.tables import Table

AVERAGE = "Avg."
TITLES = {
    "sts": "STS (Spearman x100)",
    "transfer": "Transfer (accuracy x100)",
    "clustering": "Clustering (clustering accuracy x100; DBpedia: AMI x100)",
    "geometry": "Geometry (lower is better)",
    "own": "Own sets",
    "mteb": "MTEB (main score x100)",
}

MEASURES = ("nDCG@10", "MRR@10", "recall@100")  # of retrieval
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
    """Append the average, where any model has all of its sets; the paper prints its own."""
    averages = [
        average(suite, {name: one.value for name, one in result.sets.items()})
        for _, result in models
    ]
    if not any(value is not None for value in averages):
        return
    averages[:0] = [
        numbers.get(AVERAGE)
        for numbers in published.values()
        if any(name in numbers for name in table.columns)
    ]
    table.columns.append(AVERAGE)
    for (_, values), spreads, value in zip(table.rows, table.spreads, averages, strict=True):
        values.append(value)
        spreads.append(None)
    table.notes.append(f"{AVERAGE}: the mean of {', '.join(AVERAGED[suite])}.")


def _add_notes(table: Table, models: Sequence[tuple[str, SuiteResult]]) -> None:
    missing = dict.fromkeys(name for _, result in models for name in result.missing)
    if missing:
        table.notes.append(f"Not evaluated: {', '.join(missing)}.")
    runs = sorted(
        {
            int(result.settings.get("kmeans_seeds", 0))
            for _, result in models
            if any(one.spread is not None for one in result.sets.values())
        }
    )
    if runs:
        table.notes.append(
            f"±: standard deviation over {' or '.join(str(n) for n in runs if n)} K-means runs."
        )
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
    tables = []
    for suite in dict.fromkeys(name for model in models for name in model.suites):
        rows = searches(models) if suite == "retrieval" else models
        results = [(model.name, model.suites[suite]) for model in rows if suite in model.suites]
        if suite == "retrieval":
            tables += [retrieval_table(results, measure) for measure in MEASURES]
        else:
            tables.append(suite_table(suite, results, published(suite)))
    return tables


def retrieval_table(models: Sequence[tuple[str, SuiteResult]], measure: str) -> Table:
    """One measure on every collection, and its mean over them where there are several."""
    names = list(dict.fromkeys(name for _, result in models for name in result.sets))
    table = Table(f"Retrieval ({measure} x100)", list(names))
    for label, result in models:
        values = {
            name: one.value if one.metric == measure else one.details.get(measure.lower())
            for name, one in result.sets.items()
        }
        table.rows.append((label, [values.get(name) for name in names]))
    if averaged_sets("retrieval", names):
        table.columns.append(AVERAGE)
        for _, row in table.rows:
            numbers = [value for value in row if isinstance(value, float)]
            row.append(float(np.mean(numbers)) if len(numbers) == len(names) else None)
        table.notes.append(f"{AVERAGE}: the mean of {', '.join(names)}.")
    if measure == MEASURES[0]:
        _add_notes(table, models)
    return table


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
