"""Training: a recipe to a run folder."""

from clusterns.training.estimate import estimate
from clusterns.training.folder import RunFolder
from clusterns.training.processes import first_process_does, processes
from clusterns.training.recipe import Recipe, load_recipe, parse_changes, recipe_names
from clusterns.training.run import Interrupted, RunResult, check_batches, train

__all__ = [
    "Interrupted",
    "Recipe",
    "RunFolder",
    "RunResult",
    "check_batches",
    "estimate",
    "first_process_does",
    "load_recipe",
    "parse_changes",
    "processes",
    "recipe_names",
    "train",
]
