"""``clusterns methods``: the training methods and their parts, listed and explained."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field
from pydantic.fields import FieldInfo
from rich.table import Table

from clusterns.commands.request import Cli, Request, function
from clusterns.console import stdout
from clusterns.errors import UserError
from clusterns.methods.method import Method
from clusterns.methods.recipe import PartSettings, Recipe
from clusterns.methods.registry import get_method, get_part, method_names, part_names, recipe_class
from clusterns.settings import closest, meaning
from clusterns.training.recipe import load_recipe, recipe_names


class MethodsRequest(Request):
    """List the methods and the parts that can be added to them, or explain one with its settings.

    clusterns methods esimcse

    Choose a method with `clusterns train corpus.txt --method esimcse --output runs/e`. Add a part to any method
    that trains with `--set parts=queue`.
    """

    name: Annotated[str | None, Cli(argument=True)] = Field(default=None, kw_only=False)
    """Method or part to explain."""

    def run(self) -> dict[str, Method | type[PartSettings]]:
        """Look up the methods and the settings of the parts, by name."""
        known: dict[str, Method | type[PartSettings]] = {n: get_part(n) for n in part_names()}
        known |= {name: get_method(name) for name in method_names()}
        if self.name is None:
            return known
        if self.name not in known:
            raise UserError(f"unknown method or part {self.name!r}.{closest(self.name, known)}")
        return {self.name: known[self.name]}

    def show(self, result: dict[str, Method | type[PartSettings]]) -> None:
        """Print two tables, or a page about one method or part."""
        if self.name is not None:
            _explain(self.name, result[self.name])
            return
        table = Table("method", "description", "paper", "needs", box=None, pad_edge=False)
        for name, each in result.items():
            if isinstance(each, Method):
                table.add_row(name, _paragraphs(each)[0], each.paper, each.needs)
        stdout.print(table)
        stdout.print("\nParts, for any method that trains (--set parts=NAME):\n")
        table = Table("part", "description", box=None, pad_edge=False)
        for name, each in result.items():
            if not isinstance(each, Method):
                table.add_row(name, _paragraphs(each)[0])
        stdout.print(table)


def _explain(name: str, explained: Method | type[PartSettings]) -> None:
    text = "\n\n".join(_paragraphs(explained))
    if not isinstance(explained, Method):
        stdout.print(f"Part {name}\n\n{text}")
        _print_settings(explained.model_fields, {})
        return
    stdout.print(f"{explained.title} ({explained.paper})\n\n{text}")
    if explained.needs:
        stdout.print(f"\nNeeds: {explained.needs}.")
    _print_settings(recipe_class(name).model_fields, explained.defaults)
    recipes = [each for each in recipe_names() if load_recipe(each).method == name]
    if recipes:
        stdout.print(f"\nRecipes: {', '.join(recipes)}")
    example = f"clusterns train corpus.txt --method {name} --output runs/{name}"
    stdout.print(f"\n{example}", soft_wrap=True)


def _print_settings(fields: Mapping[str, FieldInfo], defaults: Mapping[str, object]) -> None:
    """Print its own settings, and common settings whose defaults differ."""
    table = Table("setting", "default", "meaning", box=None, pad_edge=False)
    for key in sorted(fields):
        if key in defaults or key not in Recipe.model_fields:
            default = defaults.get(key, fields[key].default)
            shown = "" if default is None else str(default)
            table.add_row(key, shown, meaning(fields[key]))
    if table.row_count:
        stdout.print()
        stdout.print(table)


def _paragraphs(explained: object) -> list[str]:
    """The paragraphs of a docstring, each on one line."""
    return [" ".join(each.split()) for each in (inspect.getdoc(explained) or "").split("\n\n")]


methods = function(MethodsRequest)
