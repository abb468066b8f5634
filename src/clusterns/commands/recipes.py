"""``clusterns recipes``: list and explain the published settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clusterns.adaptation.settings import documented_fields
from clusterns.commands.request import Cli, Request, function
from clusterns.console import stdout
from clusterns.errors import UserError
from clusterns.methods.registry import all_fields, defaults_by_method, owners
from clusterns.settings import meaning
from clusterns.training.recipe import Recipe, load_recipe, recipe_names


class RecipesRequest(Request):
    """List the recipes, or load one with all of its settings."""

    name: Annotated[str | None, Cli(argument=True)] = Field(default=None, kw_only=False)
    """Show every setting of this recipe."""

    def run(self) -> dict[str, Recipe]:
        """Load the recipes, by name."""
        names = recipe_names() if self.name is None else [self.name]
        return {name: load_recipe(name) for name in names}


class RecipesCommand(RecipesRequest):
    """List the recipes, show one, or explain the settings.

    Change a setting with `clusterns train --set key=value`, or copy a recipe to a file of your own:
    `clusterns recipes default > mine.yaml`.
    """

    keys: bool = False
    """Explain every setting, with its default."""

    def perform(self) -> None:
        """Refuse --keys with a recipe: it explains the settings of all recipes."""
        if self.keys and self.name is not None:
            raise UserError(f"--keys explains all settings: leave out --keys or {self.name}.")
        super().perform()

    def show(self, result: dict[str, Recipe]) -> None:
        """Print a table, or a recipe as YAML."""
        from rich.table import Table

        if self.keys:
            table = Table("setting", "default", "meaning", "belongs to", box=None, pad_edge=False)
            belongs = owners()
            for key, field in all_fields().items():
                others = [f"{value} ({name})" for name, value in defaults_by_method(key).items()]
                usual = "" if field.default is None else str(field.default)
                default = ", ".join(filter(None, [usual, *others]))
                table.add_row(key, default, meaning(field), belongs.get(key, ""))
            for key, field, command in documented_fields():
                default = "" if field.is_required() else str(field.default)
                table.add_row(key, default, meaning(field), command)
            stdout.print(table)
        elif self.name is not None:
            stdout.print(result[self.name].to_yaml().rstrip(), soft_wrap=True)
        else:
            table = Table("recipe", "description", box=None, pad_edge=False)
            for name, recipe in result.items():
                table.add_row(name, recipe.description)
            stdout.print(table)


recipes = function(RecipesRequest)
