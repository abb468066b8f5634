"""What a search may choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import model_validator

from clusterns.errors import UserError
from clusterns.methods.registry import get_method
from clusterns.settings import Settings
from clusterns.training.recipe import Recipe

if TYPE_CHECKING:
    from optuna.trial import Trial


class Range(Settings):
    """Numbers between two bounds, evenly or by their logarithm."""

    low: float
    high: float
    log: bool = False

    @model_validator(mode="after")
    def _bounds(self) -> Range:
        if not self.low < self.high or (self.log and self.low <= 0):
            raise ValueError("low must be below high, and above 0 where it goes by the logarithm")
        return self


Space = Mapping[str, Range | list[Any]]


def space_of(recipe: Recipe, only: Sequence[str] | None = None) -> Space:
    """The settings of a recipe's method that are searched (``only`` some of them), its own values included."""
    if not get_method(recipe.method).trains:
        raise UserError(f"{recipe.method} is not trained: there is nothing to search.")
    text = (files("clusterns.lab.search") / "space.yaml").read_text("utf-8")
    known = yaml.safe_load(text)
    found: dict[str, Range | list[Any]] = {}
    space = {**known["all"], **known.get(recipe.method, {})}
    for key in only or ():
        if key not in space:
            raise UserError(f"--over {key}: choose from {', '.join(space)}.")
    for key, values in space.items():
        if only and key not in only:
            continue
        own = getattr(recipe, key)
        if isinstance(values, list):
            found[key] = sorted({*values, own})
        else:
            asked = Range.model_validate(values)
            low, high = min(asked.low, own), max(asked.high, own)
            found[key] = Range(low=low, high=high, log=asked.log and low > 0)
    return found


def suggest(trial: Trial, space: Space) -> dict[str, Any]:
    """Values for a trial."""
    found: dict[str, Any] = {}
    for key, values in space.items():
        if isinstance(values, Range):
            found[key] = trial.suggest_float(key, values.low, values.high, log=values.log)
        else:
            found[key] = trial.suggest_categorical(key, values)
    return found
