"""``clusterns recipes``: the published settings, listed and explained."""

from __future__ import annotations

from typing import Annotated

import typer


def recipes(
    name: Annotated[
        str | None, typer.Argument(help="Show every setting of this recipe.", show_default=False)
    ] = None,
    keys: Annotated[
        bool, typer.Option("--keys", help="Explain every setting: its default and its meaning.")
    ] = False,
) -> None:
    """List the recipes, show one, or explain the settings.

    Any of them is changed with `clusterns train --set key=value`, or copied to a file of your own:
    `clusterns recipes default > mine.yaml`.
    """
    from rich.table import Table

    from clusterns.console import stdout
    from clusterns.methods.registry import all_fields, owners
    from clusterns.training.recipe import load_recipe, recipe_names

    if keys:
        table = Table("setting", "default", "meaning", "of", box=None, pad_edge=False)
        belongs = owners()
        for key, field in all_fields().items():
            default = "" if field.default is None else str(field.default)
            table.add_row(key, default, field.description or "", belongs.get(key, ""))
        stdout.print(table)
    elif name is not None:
        stdout.print(load_recipe(name).to_yaml().rstrip(), markup=False, soft_wrap=True)
    else:
        table = Table("recipe", "for", box=None, pad_edge=False)
        for each in recipe_names():
            table.add_row(each, load_recipe(each).description)
        stdout.print(table)
