"""An experiment: a small file that says what is trained, judged and drawn."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from clusterns.evaluation.catalog import SUITES
from clusterns.lab.checks import check_paper, check_values
from clusterns.lab.drawing import Drawing
from clusterns.settings import Settings

BUDGETS = ("small", "raw", "paper")
Budget = Literal["small", "raw", "paper"]
WIKIPEDIA = "wikipedia"
# The file's own keys that a recipe has none of.
RECIPE = "recipe"


def _numbers(values: Any) -> Any:
    """YAML 1.1 reads 1e-3 as text; people mean the number."""
    if isinstance(values, dict):
        return {key: _numbers(value) for key, value in values.items()}
    if isinstance(values, list):
        return [_numbers(value) for value in values]
    if isinstance(values, str) and re.fullmatch(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+", values):
        return float(values)
    return values


def _seeds(value: Any) -> Any:
    """A number of seeds is so many of them, from 1 on: 0 is left for a search."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return tuple(range(1, value + 1))
    if isinstance(value, list | tuple) and value and len(set(map(str, value))) == len(value):
        return value
    raise ValueError("name a number of seeds, or a list of different ones")


def _bare_rows(rows: Any) -> Any:
    """A name with nothing behind it is the recipe as it is."""
    if not isinstance(rows, dict):
        return rows
    return {name: {} if row is None else row for name, row in rows.items()}


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Seeds = Annotated[tuple[int, ...], BeforeValidator(_seeds)]
Changes = Annotated[dict[str, Any], BeforeValidator(_numbers)]


class Row(Settings):
    """One line of a table: a method with its settings."""

    settings: Changes = {}
    """What differs from the recipe, whatever the budget; any key of a recipe, and `recipe` itself."""
    small: Changes = {}
    """What differs besides with --budget small."""
    raw: Changes = {}
    """What differs besides with --budget raw."""
    paper: Changes = {}
    """What differs besides with --budget paper."""
    beside: str | None = None
    """The paper's row that stands beside it, by its name in the paper's table."""
    seeds: Seeds | None = None
    """How many seeds, or which ones. Empty: the experiment's."""
    once: bool = False
    """Run it as it is, without the values of the grid: a row to compare with."""

    def beside_at(self, point: Mapping[str, Any]) -> str | None:
        """The paper's row beside a line: that of the same value of the grid."""
        if self.beside is None or not point:
            return self.beside
        ((key, value),) = point.items()
        return f"{self.beside}, {key} {value}"


class TableDrawing(Settings):
    """The columns of the table."""

    suite: str | None = None
    """A suite: a column for each of its sets, and their average."""
    columns: dict[str, str] = {}
    """Or: column names, each with the value in it, such as `sts/Avg.`, `dev` or `last/hard_negative_similarity`."""
    published: str | None = None
    """The paper's table that the rows named by `beside` are in. Empty: that of the suite."""
    digits: int = Field(2, ge=0, le=6)
    """Decimals."""

    @model_validator(mode="after")
    def _one_of_both(self) -> TableDrawing:
        if bool(self.suite) == bool(self.columns):
            raise ValueError("a table has either a suite or columns.")
        if self.suite is not None and self.suite not in SUITES:
            raise ValueError(f"there is no suite {self.suite!r}: choose from {', '.join(SUITES)}.")
        return self


class Experiment(Settings):
    """What is trained (rows x grid x seeds), on what, how it is judged and drawn."""

    title: str
    """A few words."""
    about: str = ""
    """What it is to show."""
    source: str = ""
    """Where it stands in the paper."""
    corpus: str = WIKIPEDIA
    """The text to learn from: `wikipedia` (wiki/ in the folder of the data), or a file or Hub dataset."""
    evaluate: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ("sts",)
    """Suites that every model is judged on: sts, transfer, clustering, geometry."""
    kmeans_seeds: int = Field(10, ge=1)
    """K-means runs for each clustering set."""
    seeds: Seeds = (1, 2, 3)
    """How many seeds a row, or which ones."""
    settings: Changes = {}
    """Settings of all rows."""
    small: Changes = {}
    """Settings of all rows with --budget small."""
    raw: Changes = {}
    """Settings of all rows with --budget raw."""
    paper: Changes = {}
    """Settings of all rows with --budget paper."""
    rows: Annotated[dict[str, Row], BeforeValidator(_bare_rows)]
    """The methods, by the name that the table shows."""
    grid: Annotated[dict[str, list[Any]], BeforeValidator(_numbers)] = {}
    """A setting and its values: every row runs with each of them."""
    table: TableDrawing = Field(
        default_factory=lambda: TableDrawing.model_validate({"suite": "sts"})
    )
    """The columns of the table."""
    cases: int = Field(0, ge=0)
    """So many clusters of sentences are shown below the table, for each row."""
    compare: list[tuple[str, str]] = []
    """Pairs of rows whose difference is tested, the one that should win first."""
    compare_by: str = "sts/Avg."
    """The value that the differences are tested on."""
    figures: dict[str, Drawing] = {}
    """Pictures, by the name of their file."""

    @model_validator(mode="before")
    @classmethod
    def _table_of_what_is_judged(cls, values: Any) -> Any:
        if not isinstance(values, dict) or "table" in values or "evaluate" not in values:
            return values
        judged = _listed(values["evaluate"])
        if not isinstance(judged, list | tuple):
            return values
        training = {"columns": {"dev": "dev", "before": "base"}}
        return {**values, "table": {"suite": judged[0]} if judged else training}

    @model_validator(mode="after")
    def _names_are_known(self) -> Experiment:
        if not self.rows:
            raise ValueError("an experiment needs rows: NAME: {settings: {method: ...}}.")
        for suite in self.evaluate:
            if suite not in SUITES:
                raise ValueError(f"there is no suite {suite!r}: choose from {', '.join(SUITES)}.")
        if len(self.grid) > 1:
            raise ValueError("a grid has one setting; write the other one into the rows.")
        for key, values in self.grid.items():
            if not values:
                raise ValueError(f"grid: {key} has no values.")
            twice = [value for place, value in enumerate(values) if value in values[:place]]
            if twice:
                raise ValueError(f"grid: {key} has {twice[0]} twice.")
        names = [label for label, _, _ in self.lines()]
        for first, second in self.compare:
            for name in (first, second):
                if name not in names:
                    raise ValueError(f"compare: there is no row {name!r}: {', '.join(names)}.")
        for file, figure in self.figures.items():
            if not re.fullmatch(r"[a-z0-9-]+", file):
                raise ValueError(f"figure {file!r}: a name is made of a-z, 0-9 and -.")
            if figure.kind == "against" and figure.setting not in self.grid:
                raise ValueError(f"figure {file}: {figure.setting} is not the setting of the grid.")
            for name in figure.rows:
                if name not in names:
                    raise ValueError(
                        f"figure {file}: there is no row {name!r}: {', '.join(names)}."
                    )
        check_values(self)
        check_paper(self)
        return self

    def lines(self) -> list[tuple[str, Row, dict[str, Any]]]:
        """Every line of the table: its label, its row, and the value of the grid."""
        if not self.grid:
            return [(name, row, {}) for name, row in self.rows.items()]
        ((key, values),) = self.grid.items()
        found: list[tuple[str, Row, dict[str, Any]]] = []
        for name, row in self.rows.items():
            if row.once:
                found.append((name, row, {}))
                continue
            found += [(f"{name}, {key} {value}", row, {key: value}) for value in values]
        return found

    def seeds_of(self, row: Row, count: int | None = None) -> tuple[int, ...]:
        """The seeds of a row; ``count`` says how many instead, except of one that has a single one:
        it is given where there is nothing random."""
        seeds = row.seeds or self.seeds
        if count is None or (row.seeds is not None and len(row.seeds) == 1):
            return seeds
        return tuple(range(1, count + 1))

    def changes(self, budget: Budget, row: Row, point: Mapping[str, Any]) -> dict[str, Any]:
        """What differs from the recipe in a line, the nearer one last."""
        return {
            **SETTINGS[budget], **self.settings, **getattr(self, budget),
            **row.settings, **getattr(row, budget), **point,
        }  # fmt: skip


# minibert's states are averaged. After so many steps SimCSE's own curve on STS-B dev has risen nearly as far as
# it does: results/lab/budget.
SMALL: dict[str, Any] = {
    "base": "minibert",
    "batch_size": 64,
    "learning_rate": 2e-4,
    "max_steps": 125,
    "eval_steps": 25,
    "log_steps": 5,
    "patience": 0,
    "heldout": 200,
    "dev": "stsb",
}

# A masked language model that was never trained for sentences, and so has all of that to learn: methods differ from
# it where they cannot from minibert. Nothing is selected: the model is that of the last step.
RAW: dict[str, Any] = {
    "base": "minibert-raw",
    "batch_size": 64,
    "learning_rate": 2e-4,
    "max_steps": 250,
    "eval_steps": 125,
    "log_steps": 10,
    "patience": 0,
    "heldout": 500,
    "dev": "stsb",
    "checkpoint": "last",
}
SETTINGS: dict[str, dict[str, Any]] = {"small": SMALL, "raw": RAW, "paper": {}}
