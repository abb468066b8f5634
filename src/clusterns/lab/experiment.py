"""An experiment: a small file that defines what is trained, how it is evaluated, and which figures are drawn."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from clusterns.errors import UserError
from clusterns.evaluation.tables import published_rows
from clusterns.lab.specs import FigureSpec, TableSpec, check_suites, check_value
from clusterns.settings import Settings, as_number, validated

Budget = Literal["small", "raw", "paper"]


def _packaged(name: str) -> Any:
    return yaml.safe_load((files("clusterns.lab") / name).read_text("utf-8"))


BUDGETS: dict[Budget, dict[str, Any]] = _packaged("budgets.yaml")
"""Settings of every trial, by the name of the budget."""
TUNED: dict[str, dict[str, Any]] = _packaged("tuned.yaml")
"""Settings that searches found: those of all methods, and those of each method."""
WIKIPEDIA = "wikipedia"
RECIPE = "recipe"  # a key that experiment files have in addition to those of recipes


def _numbers(values: Any) -> Any:
    """Convert numbers such as 1e-3, which YAML 1.1 reads as text."""
    if isinstance(values, dict):
        return {key: _numbers(value) for key, value in values.items()}
    if isinstance(values, list):
        return [_numbers(value) for value in values]
    return as_number(values)


def _seeds(value: Any) -> Any:
    """A number n means the seeds 1 to n: 0 is reserved for searches."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return tuple(range(1, value + 1))
    if isinstance(value, list | tuple) and value and len(set(map(str, value))) == len(value):
        return value
    raise ValueError("pass a number of seeds, or a list of different ones")


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


class ByBudget(Settings):
    """Settings of trials, by budget."""

    settings: Changes = {}
    """Settings with every budget: any key of a recipe, and `recipe` itself."""
    small: Changes = {}
    """More settings with --budget small."""
    raw: Changes = {}
    """More settings with --budget raw."""
    paper: Changes = {}
    """More settings with --budget paper."""

    def settings_with(self, budget: Budget) -> dict[str, Any]:
        """The settings with a budget; those of the budget take precedence."""
        return self.settings | getattr(self, budget)


class Row(ByBudget):
    """A method with its settings."""

    # Records keep its first name, for earlier versions.
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


class Experiment(ByBudget):
    """What is trained (rows x grid x seeds), the text, the evaluations, the tables and the figures."""

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
    tuned: bool = False
    """With --budget raw, use the settings that the searches of the design found, and crops."""
    rows: Annotated[dict[str, Row], BeforeValidator(_bare_rows)]
    """The methods, by the name shown in the table."""
    grid: Annotated[dict[str, list[Any]], BeforeValidator(_numbers)] = {}
    """A setting and its values: every row runs with each of them. A list under `raw`, for example,
    replaces them with that budget."""
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
    def _default_table(cls, values: Any) -> Any:
        if not isinstance(values, dict) or "table" in values or "evaluate" not in values:
            return values
        suites = _listed(values["evaluate"])
        if not isinstance(suites, list | tuple):
            return values
        training = {"columns": {"dev": "dev", "before": "base"}}
        return {**values, "table": {"suite": suites[0]} if suites else training}

    @model_validator(mode="after")
    def _names_are_known(self) -> Experiment:
        if not self.rows:
            raise ValueError("an experiment needs rows: NAME: {settings: {method: ...}}.")
        check_suites(self.evaluate)
        if len(self.grid) > 1:
            raise ValueError("a grid has one setting; put the other one into the rows.")
        for key, values in self.grid.items():
            if not values:
                raise ValueError(f"grid: {key} has no values.")
            twice = [value for place, value in enumerate(values) if value in values[:place]]
            if twice:
                raise ValueError(f"grid: {key}: duplicate value {twice[0]}.")
        names = [label for label, _, _ in self.lines()]
        wanted = [("compare", name) for pair in self.pairs() for name in pair]
        for file, figure in self.figures.items():
            if not re.fullmatch(r"[a-z0-9-]+", file):
                raise ValueError(f"figure {file!r}: the name must consist of a-z, 0-9 and -.")
            if figure.kind == "against" and figure.setting not in self.grid:
                raise ValueError(f"figure {file}: {figure.setting} is not the setting of the grid.")
            wanted += [(f"figure {file}", name) for name in figure.rows if name not in self.rows]
        for where, name in wanted:
            if name not in names:
                raise ValueError(f"{where}: there is no row {name!r}: {', '.join(names)}.")
        self._check_values()
        self._check_paper()
        return self

    def _check_values(self) -> None:
        """Values that are shown or compared must come from the evaluations of the trials."""
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
        if any(
            "seed" in each.settings_with(b) for each in (self, *self.rows.values()) for b in BUDGETS
        ):
            raise ValueError("seed is not allowed among settings: use `seeds`.")

    def _check_paper(self) -> None:
        """The rows of the paper that are shown must exist."""
        known = self.published
        if self.table.published and not known:
            raise ValueError(
                f"table.published: there is no table {self.table.published!r} of the paper."
            )
        for label, row in self.rows.items():
            wanted = row.paper_row
            if wanted is not None and not any(
                f"{name}, ".startswith(f"{wanted}, ") for name in known
            ):
                raise ValueError(
                    f"rows.{label}.paper_row: the paper's table has no row {wanted!r}: "
                    f"{', '.join(known) or 'it is empty'}."
                )

    @cached_property
    def published(self) -> dict[str, dict[str, float]]:
        """The rows of the paper's table, by the names of values such as ``sts/Avg.``."""
        suite = self.table.suite
        rows = published_rows(self.table.published or suite or "")
        columns = self.table.columns
        return {
            name: {
                f"{suite}/{key}" if suite else columns.get(key, key): value
                for key, value in row.items()
            }
            for name, row in rows.items()
        }

    def paper_row(self, name: str, point: Mapping[str, Any]) -> str | None:
        """The paper's row for a line: the one with the same value of the grid, if the paper has it."""
        wanted = self.rows[name].paper_row
        if wanted is None or not point:
            return wanted
        ((key, value),) = point.items()
        return next((row for row in self.published if row == f"{wanted}, {key} {value}"), None)

    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of all families."""
        return [pair for pairs in self.compare.values() for pair in pairs]

    def lines(self) -> list[tuple[str, str, dict[str, Any]]]:
        """The lines of the table: label, name of the row, and value of the grid."""
        points = [{key: value} for key, values in self.grid.items() for value in values]
        return [
            (", ".join([name, *(f"{key} {value}" for key, value in point.items())]), name, point)
            for name, row in self.rows.items()
            for point in ([{}] if row.ignore_grid or not points else points)
        ]

    def with_budget(self, budget: Budget) -> Experiment:
        """The experiment with the budget's own values of the grid."""
        own = dict(getattr(self, budget))
        grid = {key: own.pop(key, values) for key, values in self.grid.items()}
        return self.model_copy(update={"grid": grid, budget: own})

    def seeds_of(self, name: str, count: int | None = None) -> tuple[int, ...]:
        """The seeds of a row, or ``count`` seeds from its first one; a row with one seed has no randomness."""
        own = self.rows[name].seeds
        seeds = own or self.seeds
        if count is None or (own and len(own) == 1):
            return seeds
        return (*seeds, *range(max(seeds) + 1, max(seeds) + count))[:count]

    def changes(self, budget: Budget, name: str, point: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a line; those of the row and the grid take precedence."""
        row = self.rows[name]
        own = self.settings_with(budget) | row.settings_with(budget) | dict(point)
        tuned = TUNED["all"] | TUNED.get(own.get("method", ""), {})
        return {**BUDGETS[budget], **(tuned if self.tuned and budget == "raw" else {}), **own}


def experiment_names() -> list[str]:
    """The experiments of this package: the main table, then the others by name."""
    folder = files("clusterns.lab") / "experiments"
    names = sorted(item.name.removesuffix(".yaml") for item in folder.iterdir())
    return sorted(names, key=lambda name: name != "main")


def load_experiment(name_or_file: str) -> Experiment:
    """Load an experiment of this package by name, or a YAML file, whose corpus may be in the same folder."""
    source = f"experiment {name_or_file}"
    folder = None
    if name_or_file in experiment_names():
        text = (files("clusterns.lab") / "experiments" / f"{name_or_file}.yaml").read_text("utf-8")
    else:
        path = Path(name_or_file).expanduser()
        if path.suffix not in {".yaml", ".yml"} and os.sep not in name_or_file:
            raise UserError(
                f"there is no experiment {name_or_file!r}: choose one of "
                f"{', '.join(experiment_names())}, or pass a .yaml file."
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
        raise UserError(f"{source} must consist of keys and values.")
    found = validated(Experiment, values, source, "docs/lab.md explains the keys.")
    if folder is None or found.corpus == WIKIPEDIA or not (folder / found.corpus).exists():
        return found
    return found.model_copy(update={"corpus": str((folder / found.corpus).resolve())})


class _EachKeyOnce(yaml.SafeLoader):
    """Refuses duplicate keys: YAML would silently take the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None and twice != "<<":
            raise yaml.YAMLError(f"duplicate key {twice!r}")
        return super().construct_mapping(node, deep)


def short_name(name_or_file: str) -> str:
    """The name of an experiment in file names."""
    return Path(name_or_file).stem
