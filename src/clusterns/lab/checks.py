"""What a table, a comparison or a figure of an experiment may ask for: checked before anything is trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clusterns.evaluation.catalog import SUITES
from clusterns.evaluation.tables import AVERAGE, published_rows

if TYPE_CHECKING:
    from clusterns.lab.experiment import Experiment

AMI = "AMI"
LAST = "last"
DEV_LAST = "dev_last"
OF_TRAINING = ("dev", DEV_LAST, "base", "best_step", "clustering_started_at")
GEOMETRY = ("alignment", "uniformity")
DIAGNOSTICS = ("_similarity", "negative_rate", "hard_negative_share", "judged_false_negatives")
"""How the keys of metrics.jsonl end that are kept of the last step."""


def check_values(experiment: Experiment) -> None:
    """What is shown and compared must be what the cells are judged on.

    Raises:
        ValueError: with the key and the remedy, as in all checks here.
    """
    judged = experiment.evaluate
    if experiment.compare:
        check_value("compare_by", experiment.compare_by, judged)
    suite = experiment.table.suite
    if suite is not None and suite not in judged:
        raise ValueError(f"table: the suite {suite} is not in evaluate.")
    for name, value in experiment.table.columns.items():
        check_value(f"table.columns.{name}", value, judged)
    for file, figure in experiment.figures.items():
        if figure.kind in ("against", "dots"):
            check_value(f"figures.{file}", figure.values[0], judged)
    changes = [experiment.settings, experiment.small, experiment.raw, experiment.paper]
    for row in experiment.rows.values():
        changes += [row.settings, row.small, row.raw, row.paper]
    if any("seed" in each for each in changes):
        raise ValueError("a seed among settings: write `seeds`.")


def check_paper(experiment: Experiment) -> None:
    """The rows of the paper that are to stand beside ours must be there."""
    name = experiment.table.published or experiment.table.suite or ""
    rows = published_rows(name)
    if experiment.table.published and not rows:
        raise ValueError(f"table.published: there is no table {name!r} of the paper.")
    for label, row, point in experiment.lines():
        beside = row.beside_at(point)
        if beside is not None and beside not in rows:
            there = ", ".join(rows) or "it is empty"
            raise ValueError(
                f"rows.{label}.beside: the paper's table has no row {beside!r}: {there}."
            )


def check_value(where: str, value: str, suites: Sequence[str]) -> None:
    """A value that a cell judged on ``suites`` has."""
    suite, slash, name = value.partition("/")
    if value in OF_TRAINING or (suite == LAST and name.endswith(DIAGNOSTICS)):
        return
    if slash and suite in SUITES:
        if suite not in suites:
            raise ValueError(f"{where}: {value} needs {suite} in evaluate.")
        known = names_of(suite)
        # A part of a set, or one from the Hub, has its name with more behind it.
        if name.split(" (")[0] in known:
            return
        raise ValueError(f"{where}: {suite} has no {name!r}: choose from {', '.join(known)}.")
    raise ValueError(
        f"{where}: there is no value {value!r}: choose from {', '.join(OF_TRAINING)}, SUITE/SET, "
        "SUITE/Avg., clustering/AMI, or last/KEY, such as last/hard_negative_similarity."
    )


def names_of(suite: str) -> list[str]:
    """What a suite gives: its sets and their average."""
    if suite == "geometry":
        return list(GEOMETRY)
    return [*SUITES[suite], AVERAGE, *([AMI] if suite == "clustering" else [])]
