"""Experiments by name: those of this package, and the user's own files."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from clusterns.errors import UserError
from clusterns.lab.experiment import WIKIPEDIA, Experiment
from clusterns.settings import validated


def experiment_names() -> list[str]:
    """The experiments inside this package: the main table, then the others by name."""
    folder = files("clusterns.lab") / "experiments"
    names = sorted(item.name.removesuffix(".yaml") for item in folder.iterdir())
    return sorted(names, key=lambda name: name != "main")


def load_experiment(name_or_file: str) -> Experiment:
    """An experiment of this package by its name, or the user's own YAML file, with its text beside it."""
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
    """Of two rows with one name, YAML would take the last without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None and twice != "<<":
            raise yaml.YAMLError(f"{twice} stands there twice")
        return super().construct_mapping(node, deep)


def short_name(name_or_file: str) -> str:
    """What an experiment's files are called."""
    return Path(name_or_file).stem
