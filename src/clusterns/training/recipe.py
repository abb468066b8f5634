"""Recipes: every setting of a run, flat and checked, from a YAML file or the name of a published recipe."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from clusterns.errors import UserError
from clusterns.methods.recipe import Recipe, current_names
from clusterns.methods.registry import get_method, owners, part_with, recipe_class
from clusterns.settings import as_number, closest, validated

__all__ = ["Recipe", "load_recipe", "recipe_names"]

DEFAULT_RECIPE, MINIBERT_RECIPE = "default", "minibert"
# Removed settings, with the only values at which an older recipe has the same meaning today.
RETIRED = [("soft_parser", "")]


def recipe_names() -> list[str]:
    """Names of the recipes inside this package."""
    folder = files("clusterns.training") / "recipes"
    names = sorted(item.name.removesuffix(".yaml") for item in folder.iterdir())
    return [DEFAULT_RECIPE, *(name for name in names if name != DEFAULT_RECIPE)]


def load_recipe(
    name_or_file: str = DEFAULT_RECIPE, changes: Mapping[str, Any] | None = None
) -> Recipe:
    """Load a published recipe by name, or the user's own YAML file, with ``changes`` on top.

    The method's defaults apply to keys that neither of them sets. Some changes remove keys of the
    recipe: start_step and sigma remove each other, a template removes the pooling, and another method
    removes the keys that it does not have.
    """
    source = f"recipe {name_or_file}"
    values, changes = current_names(_read(name_or_file)), current_names(changes or {})
    both = {**values, **changes}
    method = get_method(str(both.get("method", Recipe.model_fields["method"].default)))
    kind = recipe_class(method.name, _names(both.get("parts")))
    belongs = owners()
    if changes.get("method", values.get("method")) != values.get("method"):
        values["description"] = f"{method.title} with the settings of {source}."
    if not {"method", "parts"}.isdisjoint(changes):
        values = {k: v for k, v in values.items() if k in kind.model_fields or k not in belongs}
    excludes = {k: v for each in kind.__mro__ for k, v in vars(each).get("excludes", {}).items()}
    for key, other in excludes.items():
        if changes.get(key) is not None and other not in changes:
            values.pop(other, None)
    both = {**method.defaults, "method": method.name, **values, **changes}
    for key in both:
        if key in belongs and key not in kind.model_fields:
            part = part_with(key)
            remedy = f" Add it with parts=[{part}]." if part else ""
            raise UserError(
                f"{source}: {key} belongs to {belongs[key]}, but the method is {method.name}."
                f"{remedy}"
            )
    return validated(kind, both, source)


def _names(parts: Any) -> tuple[str, ...]:
    """The names in the key ``parts``; validation refuses anything else."""
    parts = [parts] if isinstance(parts, str) else parts
    return tuple(map(str, parts)) if isinstance(parts, list | tuple) else ()


def _read(name_or_file: str) -> dict[str, Any]:
    if name_or_file in recipe_names():
        text = (files("clusterns.training") / "recipes" / f"{name_or_file}.yaml").read_text("utf-8")
    else:
        path = Path(name_or_file).expanduser()
        if path.suffix not in {".yaml", ".yml"} and os.sep not in name_or_file:
            raise UserError(
                f"there is no recipe {name_or_file!r}.{closest(name_or_file, recipe_names())} Or pass a .yaml file."
            )
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read the recipe {path}: {error}.") from None
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UserError(
            f"recipe {name_or_file} is not YAML: {' '.join(str(error).split())}."
        ) from None
    if not isinstance(values, dict):
        raise UserError(f"recipe {name_or_file} must consist of keys and values.")
    return {key: as_number(value) for key, value in _of_older_run(values).items()}


def _of_older_run(values: dict[str, Any]) -> dict[str, Any]:
    """Convert the settings of a recipe that an earlier version may have resolved."""
    values = {key: value for key, value in values.items() if (key, value) not in RETIRED}
    # Before there was ``checkpoint``, dev=none chose the step by the label-free score.
    is_older_run = {"dev", "heldout", "patience"} <= values.keys() and "checkpoint" not in values
    if is_older_run and values["dev"] == "none":
        return {**values, "dev": "label-free"}
    return values
