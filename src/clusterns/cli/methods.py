"""``clusterns methods``: what can be trained, listed and explained."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer


def methods(
    name: Annotated[
        str | None, typer.Argument(help="Explain this method or part.", show_default=False)
    ] = None,
) -> None:
    """List the methods and the parts that can be added to them, or explain one with its settings.

    clusterns methods esimcse

    A method is chosen with `clusterns train corpus.txt --method esimcse --output runs/e`; a part is
    added to any of them with `--set "parts=\\[queue]"`.
    """
    from clusterns.errors import UserError
    from clusterns.methods.registry import method_names, part_names

    if name is None:
        _list()
    elif name in method_names():
        _explain_method(name)
    elif name in part_names():
        _explain_part(name)
    else:
        raise UserError(
            f"there is no method or part {name!r}: choose one of "
            f"{', '.join([*method_names(), *part_names()])}."
        )


def _list() -> None:
    from rich.table import Table

    from clusterns.console import stdout
    from clusterns.methods.registry import get_method, get_part, method_names, part_names

    table = Table("method", "what it does", "paper", "needs", box=None, pad_edge=False)
    for name in method_names():
        method = get_method(name)
        table.add_row(name, _text(method)[0], method.paper, method.needs)
    stdout.print(table)
    stdout.print("\nParts, for any method that trains (--set parts=[NAME]):\n")
    table = Table("part", "what it adds", box=None, pad_edge=False)
    for name in part_names():
        table.add_row(name, _text(get_part(name))[0])
    stdout.print(table)


def _explain_method(name: str) -> None:
    from clusterns.console import stdout
    from clusterns.methods.registry import get_method, get_part, keys_of
    from clusterns.training.recipe import load_recipe, recipe_names

    method = get_method(name)
    stdout.print(f"{method.title} ({method.paper})\n")
    stdout.print("\n\n".join(_text(method)))
    if method.needs:
        stdout.print(f"\nNeeds: {method.needs}.")
    kinds = [*(get_part(part) for part in method.parts), method.settings]
    _settings([key for kind in kinds for key in keys_of(kind)], dict(method.defaults))
    recipes = [each for each in recipe_names() if load_recipe(each).method == name]
    if recipes:
        stdout.print(f"\nRecipes: {', '.join(recipes)}")
    stdout.print(
        f"\nclusterns train corpus.txt --method {name} --output runs/{name}", soft_wrap=True
    )


def _explain_part(name: str) -> None:
    from clusterns.console import stdout
    from clusterns.methods.registry import get_part, keys_of

    part = get_part(name)
    stdout.print(f"Part {name}\n")
    stdout.print("\n\n".join(_text(part)))
    _settings(list(keys_of(part)), {})


def _settings(keys: list[str], defaults: dict[str, object]) -> None:
    """The settings that not every run has, and what is different of those that every run has."""
    from rich.table import Table

    from clusterns.console import stdout
    from clusterns.methods.registry import all_fields

    fields = all_fields()
    table = Table("setting", "default", "meaning", box=None, pad_edge=False)
    for key in [each for each in fields if each in keys or each in defaults]:
        default = defaults.get(key, fields[key].default)
        table.add_row(key, "" if default is None else str(default), fields[key].description or "")
    if table.row_count:
        stdout.print()
        stdout.print(table)


def _text(thing: object) -> list[str]:
    """The paragraphs of a docstring, each on one line."""
    return [" ".join(each.split()) for each in (inspect.getdoc(thing) or "").split("\n\n")]
