"""Contents of the tables and figures of an experiment, checked before anything is trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from clusterns.evaluation.catalog import SUITES
from clusterns.evaluation.tables import AVERAGE
from clusterns.settings import Settings

AMI = "AMI"
LAST = "last"
DEV_LAST = "dev_last"
OF_TRAINING = ("dev", DEV_LAST, "base", "best_step", "clustering_started_at")
GEOMETRY = ("alignment", "uniformity")
DIAGNOSTICS = ("_similarity", "negative_rate", "hard_negative_share", "judged_false_negatives")
"""Suffixes of the keys of metrics.jsonl whose last values are kept."""


class TableSpec(Settings):
    """The columns of the table."""

    suite: str | None = None
    """A suite: a column for each of its sets, and their average."""
    columns: dict[str, str] = {}
    """Or: column names, each with its value, such as `sts/Avg.`, `dev` or `last/hard_negative_similarity`."""
    published: str | None = None
    """The paper's table that contains the rows of `paper_row`. Default: that of the suite."""
    digits: int = Field(2, ge=0, le=6)
    """Decimals."""

    @model_validator(mode="after")
    def _one_of_both(self) -> TableSpec:
        if bool(self.suite) == bool(self.columns):
            raise ValueError("a table has either a suite or columns.")
        if self.suite is not None:
            check_suites([self.suite])
        return self


class FigureSpec(Settings):
    """A figure of an experiment."""

    kind: Literal["curves", "against", "geometry", "dots"]
    """Curves over the steps, a value against a setting, alignment and uniformity, or a value as dots."""
    values: list[str] = []
    """Values to draw: keys of metrics.jsonl for curves, else one value, such as `sts/Avg.`."""
    rows: list[str] = []
    """Rows to draw. Default: all."""
    setting: str = ""
    """The setting of the grid on the horizontal axis (against)."""
    label: str = ""
    """Label of the vertical axis."""

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> FigureSpec:
        if self.kind != "geometry" and not self.values:
            raise ValueError(f"a figure of kind {self.kind} needs values.")
        if self.kind in ("against", "dots") and len(self.values) > 1:
            raise ValueError(f"a figure of kind {self.kind} has one value.")
        if self.kind == "against" and not self.setting:
            raise ValueError("a figure of kind against needs a setting.")
        return self


def check_suites(names: Sequence[str]) -> None:
    """Refuse suites that do not exist.

    Raises:
        ValueError: with the key and the remedy, as in all checks here.
    """
    for name in names:
        if name not in SUITES:
            raise ValueError(f"there is no suite {name!r}: choose from {', '.join(SUITES)}.")


def check_value(where: str, value: str, suites: Sequence[str]) -> None:
    """Refuse a value that a trial evaluated on ``suites`` does not have."""
    suite, slash, name = value.partition("/")
    if value in OF_TRAINING or (suite == LAST and name.endswith(DIAGNOSTICS)):
        return
    if not slash or suite not in SUITES:
        raise ValueError(
            f"{where}: there is no value {value!r}: choose from {', '.join(OF_TRAINING)}, SUITE/SET, "
            "SUITE/Avg., clustering/AMI, or last/KEY, such as last/hard_negative_similarity."
        )
    if suite not in suites:
        raise ValueError(f"{where}: {value} needs {suite} in evaluate.")
    known = names_of(suite)
    if (
        name.split(" (")[0] not in known
    ):  # the name of a sample, or of a set from the Hub, has a suffix in brackets
        raise ValueError(f"{where}: {suite} has no {name!r}: choose from {', '.join(known)}.")


def names_of(suite: str) -> list[str]:
    """The values of a suite: its sets and their average."""
    if suite == "geometry":
        return list(GEOMETRY)
    return [*SUITES[suite], AVERAGE, *([AMI] if suite == "clustering" else [])]
