"""An experiment: a small file that says what is trained, how it is evaluated, and what is drawn."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from clusterns.errors import UserError
from clusterns.evaluation.tables import published_rows
from clusterns.lab.specs import FigureSpec, TableSpec, check_suites, check_value
from clusterns.settings import Settings, validated

Budget = Literal["small", "raw", "paper"]
BUDGETS: dict[str, dict[str, Any]] = yaml.safe_load(
    (files("clusterns.lab") / "budgets.yaml").read_text("utf-8")
)
"""Settings of every trial, by the name of the budget."""
WIKIPEDIA = "wikipedia"
RECIPE = "recipe"  # a key of experiment files that recipes do not have


def _numbers(values: Any) -> Any:
    """YAML 1.1 reads 1e-3 as text."""
    if isinstance(values, dict):
        return {key: _numbers(value) for key, value in values.items()}
    if isinstance(values, list):
        return [_numbers(value) for value in values]
    if isinstance(values, str) and re.fullmatch(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+", values):
        return float(values)
    return values


def _seeds(value: Any) -> Any:
    """A number means seeds from 1 on: 0 is reserved for a search."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return tuple(range(1, value + 1))
    if isinstance(value, list | tuple) and value and len(set(map(str, value))) == len(value):
        return value
    raise ValueError("name a number of seeds, or a list of different ones")


def _bare_rows(rows: Any) -> Any:
    """A name without settings is the default recipe."""
    if not isinstance(rows, dict):
        return rows
    return {name: {} if row is None else row for name, row in rows.items()}


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _families(value: Any) -> Any:
    """A list of pairs is one family without a name."""
    return {"": value} if isinstance(value, list | tuple) else value


Seeds = Annotated[tuple[int, ...], BeforeValidator(_seeds)]
Changes = Annotated[dict[str, Any], BeforeValidator(_numbers)]


class Row(Settings):
    """A method with its settings."""

    settings: Changes = {}
    """Settings with every budget: any key of a recipe, and `recipe` itself."""
    small: Changes = {}
    """More settings with --budget small."""
    raw: Changes = {}
    """More settings with --budget raw."""
    paper: Changes = {}
    """More settings with --budget paper."""
    # In records it keeps its first name, which earlier versions read.
    paper_row: str | None = Field(
        None, validation_alias=AliasChoices("paper_row", "beside"), serialization_alias="beside"
    )
    """The paper's row to show below this one, by its name in the paper's table."""
    seeds: Seeds | None = None
    """Number of seeds, or a list of them. Default: the experiment's."""
    ignore_grid: bool = Field(
        False, validation_alias=AliasChoices("ignore_grid", "once"), serialization_alias="once"
    )
    """Run the row once, without the values of the grid: a baseline."""

    def paper_row_at(self, point: Mapping[str, Any]) -> str | None:
        """The paper's row of a line: that of the same value of the grid."""
        if self.paper_row is None or not point:
            return self.paper_row
        ((key, value),) = point.items()
        return f"{self.paper_row}, {key} {value}"


class Experiment(Settings):
    """What is trained (rows x grid x seeds), on what, how it is evaluated and drawn."""

    title: str
    """Title of the table."""
    about: str = ""
    """The question it answers."""
    source: str = ""
    """Table or figure of the paper."""
    corpus: str = WIKIPEDIA
    """The text to learn from: `wikipedia` (wiki/ in the folder of the data), or a file or Hub dataset."""
    evaluate: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ("sts",)
    """Suites that every model is evaluated on: sts, transfer, clustering, geometry."""
    kmeans_seeds: int = Field(10, ge=1)
    """K-means runs for each clustering set."""
    seeds: Seeds = (1, 2, 3)
    """Number of seeds per row, or a list of them."""
    settings: Changes = {}
    """Settings of all rows."""
    small: Changes = {}
    """Settings of all rows with --budget small."""
    raw: Changes = {}
    """Settings of all rows with --budget raw."""
    paper: Changes = {}
    """Settings of all rows with --budget paper."""
    rows: Annotated[dict[str, Row], BeforeValidator(_bare_rows)]
    """The methods, by the name shown in the table."""
    grid: Annotated[dict[str, list[Any]], BeforeValidator(_numbers)] = {}
    """A setting and its values: every row runs with each of them."""
    table: TableSpec = Field(default_factory=lambda: TableSpec.model_validate({"suite": "sts"}))
    """The columns of the table."""
    cases: int = Field(0, ge=0)
    """Number of clusters of sentences to show below the table for each row."""
    compare: Annotated[dict[str, list[tuple[str, str]]], BeforeValidator(_families)] = {}
    """Pairs of rows to compare, the one that should win first: a list, or lists by the name of their family,
    within which p-values are corrected."""
    compare_by: str = "sts/Avg."
    """The value that is compared."""
    figures: dict[str, FigureSpec] = {}
    """Figures, by the name of their file."""

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
        check_suites(self.evaluate)
        if len(self.grid) > 1:
            raise ValueError("a grid has one setting; write the other one into the rows.")
        for key, values in self.grid.items():
            if not values:
                raise ValueError(f"grid: {key} has no values.")
            twice = [value for place, value in enumerate(values) if value in values[:place]]
            if twice:
                raise ValueError(f"grid: {key} has {twice[0]} twice.")
        names = [label for label, _, _ in self.lines()]
        wanted = [("compare", name) for pair in self.pairs() for name in pair]
        for file, figure in self.figures.items():
            if not re.fullmatch(r"[a-z0-9-]+", file):
                raise ValueError(f"figure {file!r}: a name is made of a-z, 0-9 and -.")
            if figure.kind == "against" and figure.setting not in self.grid:
                raise ValueError(f"figure {file}: {figure.setting} is not the setting of the grid.")
            wanted += [(f"figure {file}", name) for name in figure.rows]
        for where, name in wanted:
            if name not in names:
                raise ValueError(f"{where}: there is no row {name!r}: {', '.join(names)}.")
        self._check_values()
        self._check_paper()
        return self

    def _check_values(self) -> None:
        """What is shown and compared must be what the trials are evaluated on."""
        shown = {f"table.columns.{name}": value for name, value in self.table.columns.items()}
        if self.pairs():
            shown["compare_by"] = self.compare_by
        for file, figure in self.figures.items():
            if figure.kind in ("against", "dots"):
                shown[f"figures.{file}"] = figure.values[0]
        for where, value in shown.items():
            check_value(where, value, self.evaluate)
        if self.table.suite is not None and self.table.suite not in self.evaluate:
            raise ValueError(f"table: the suite {self.table.suite} is not in evaluate.")
        changes = [self.settings, self.small, self.raw, self.paper]
        for row in self.rows.values():
            changes += [row.settings, row.small, row.raw, row.paper]
        if any("seed" in each for each in changes):
            raise ValueError("a seed among settings: write `seeds`.")

    def _check_paper(self) -> None:
        """The rows of the paper that are to be shown must exist."""
        name = self.table.published or self.table.suite or ""
        rows = published_rows(name)
        if self.table.published and not rows:
            raise ValueError(f"table.published: there is no table {name!r} of the paper.")
        for label, row, point in self.lines():
            wanted = row.paper_row_at(point)
            if wanted is not None and wanted not in rows:
                known = ", ".join(rows) or "it is empty"
                raise ValueError(
                    f"rows.{label}.paper_row: the paper's table has no row {wanted!r}: {known}."
                )

    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of all families."""
        return [pair for pairs in self.compare.values() for pair in pairs]

    def lines(self) -> list[tuple[str, Row, dict[str, Any]]]:
        """The lines of the table: label, row, and value of the grid."""
        if not self.grid:
            return [(name, row, {}) for name, row in self.rows.items()]
        ((key, values),) = self.grid.items()
        found: list[tuple[str, Row, dict[str, Any]]] = []
        for name, row in self.rows.items():
            if row.ignore_grid:
                found.append((name, row, {}))
                continue
            found += [(f"{name}, {key} {value}", row, {key: value}) for value in values]
        return found

    def seeds_of(self, row: Row, count: int | None = None) -> tuple[int, ...]:
        """The seeds of a row, or ``count`` of them; a row with a single seed has nothing random and keeps it."""
        seeds = row.seeds or self.seeds
        if count is None or (row.seeds is not None and len(row.seeds) == 1):
            return seeds
        return tuple(range(1, count + 1))

    def changes(self, budget: Budget, row: Row, point: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a line; those of the row and the grid win."""
        return {
            **BUDGETS[budget], **self.settings, **getattr(self, budget),
            **row.settings, **getattr(row, budget), **point,
        }  # fmt: skip


def experiment_names() -> list[str]:
    """The experiments of this package: the main table, then the others by name."""
    folder = files("clusterns.lab") / "experiments"
    names = sorted(item.name.removesuffix(".yaml") for item in folder.iterdir())
    return sorted(names, key=lambda name: name != "main")


def load_experiment(name_or_file: str) -> Experiment:
    """Load an experiment of this package by name, or a YAML file, whose corpus may lie beside it."""
    source = f"experiment {name_or_file}"
    folder = None
    if name_or_file in experiment_names():
        text = (files("clusterns.lab") / "experiments" / f"{name_or_file}.yaml").read_text("utf-8")
    else:
        path = Path(name_or_file).expanduser()
        if path.suffix not in {".yaml", ".yml"} and os.sep not in name_or_file:
            raise UserError(
                f"there is no experiment {name_or_file!r}: choose one of "
                f"{', '.join(experiment_names())}, or name a .yaml file."
            )
        folder = path.parent
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read the experiment {path}: {error}.") from None
    try:
        values = yaml.load(text, _EachKeyOnce)
    except yaml.YAMLError as error:
        raise UserError(f"{source} is not YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(values, dict):
        raise UserError(f"{source} must be keys and values.")
    try:
        found = validated(Experiment, values, source, "docs/lab.md explains the keys.")
    except RecursionError:
        raise UserError(f"{source} has a part that holds itself.") from None
    if folder is None or found.corpus == WIKIPEDIA or not (folder / found.corpus).exists():
        return found
    return found.model_copy(update={"corpus": str((folder / found.corpus).resolve())})


class _EachKeyOnce(yaml.SafeLoader):
    """Refuses duplicate keys, of which YAML silently takes the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None and twice != "<<":
            raise yaml.YAMLError(f"{twice} stands there twice")
        return super().construct_mapping(node, deep)


def short_name(name_or_file: str) -> str:
    """The name of an experiment in file names."""
    return Path(name_or_file).stem
