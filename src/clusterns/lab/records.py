"""Records of experiments, small enough to be committed: all numbers, no vectors, nobody's paths.

    results/lab/main.jsonl                  what was asked, how the tests came out, then a line for each trial
    results/lab/answers/simcse-1-0f3a.npz   what the model of a trial predicted, per example

Tables and figures are drawn from a record as from the trials themselves, and a lab goes on from it
(:mod:`clusterns.lab.restore`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterns.errors import UserError
from clusterns.evaluation.results import read_predictions, read_results, write_predictions
from clusterns.files import atomic_file
from clusterns.lab.differences import Difference
from clusterns.lab.experiment import Experiment
from clusterns.lab.identity import recorded_identity, trial_name
from clusterns.lab.outcomes import Line, Outcome, current_names
from clusterns.lab.trial import CURVES
from clusterns.settings import validated

TRIAL_NAME = re.compile(r"\w[\w.-]*-\d+-[0-9a-f]{10}")
FOLDERS = re.compile(r"(?<![^\s'\"(=])/(?:[^/\s'\"]+/)+")
# What people call things is no path, whatever it looks like.
NAMES = {"title", "about", "label", "line", "row", "first", "second", "beside", "compare", "name"}


@dataclass(frozen=True)
class Record:
    """An experiment and what came out of it."""

    name: str
    budget: str
    experiment: Experiment
    lines: Sequence[Line]
    differences: Sequence[Difference]

    def write(self, folder: Path) -> Path:
        """Write it to ``folder/NAME.jsonl``, after the predictions, so that it never stands without them."""
        for line in self.lines:
            for one in line.outcomes:
                _write_predictions(one, folder)
        path = folder / f"{self.name}.jsonl"
        head = {
            "budget": self.budget,
            "experiment": self.experiment.model_dump(mode="json", by_alias=True),
            "lines": [
                {
                    "label": line.label,
                    "row": line.row,
                    "point": dict(line.point),
                    "beside": line.paper_row,
                    "missing": {str(seed): why for seed, why in line.missing.items()},
                }
                for line in self.lines
            ],
            "differences": [one.plain() for one in self.differences],
            "cells": sum(len(line.outcomes) for line in self.lines),
        }
        trials = [
            {"line": line.label, "seed": one.seed, **one.result, CURVES: one.curves}
            for line in self.lines
            for one in line.outcomes
        ]
        with atomic_file(path) as temporary:
            texts = [
                json.dumps(without_folders(each), ensure_ascii=False) for each in (head, *trials)
            ]
            temporary.write_text("\n".join(texts) + "\n", "utf-8")
        return path

    @classmethod
    def read(cls, path: Path) -> Record:
        """Read what ``write`` wrote."""
        try:
            head, *trials = [json.loads(text) for text in path.read_text("utf-8").splitlines()]
            # Records from before they were counted are taken as they are.
            if len(trials) != head.get("cells", len(trials)):
                raise ValueError(f"it has {len(trials)} of {head['cells']} trials")
            unknown = {trial["line"] for trial in trials} - {
                line["label"] for line in head["lines"]
            }
            if unknown:
                raise ValueError(f"it has trials without a line: {', '.join(sorted(unknown))}")
            lines = []
            for line in head["lines"]:
                own = [trial for trial in trials if trial["line"] == line["label"]]
                outcomes = [
                    Outcome(trial["seed"], trial, current_names(trial[CURVES])) for trial in own
                ]
                missing = {int(seed): why for seed, why in line.pop("missing").items()}
                paper_row = line.pop("beside")
                lines.append(Line(**line, paper_row=paper_row, outcomes=outcomes, missing=missing))
            return cls(
                path.stem,
                head["budget"],
                validated(Experiment, head["experiment"], f"experiment of {path}"),
                lines,
                [Difference(**one) for one in head["differences"]],
            )
        except OSError as error:
            raise UserError(f"cannot read the record {path}: {error.strerror}.") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            told = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise UserError(f"{path} is not a record of an experiment: {told}.") from error


def recorded_name(result: Mapping[str, Any]) -> str:
    """The name of a trial: as recorded, or made of what an early record holds."""
    name = result.get("name")
    if name is None:
        identity = recorded_identity(result)
        if identity is None:
            return early_name(result)
        name = trial_name(identity)
    return _checked(name)


def early_name(result: Mapping[str, Any]) -> str:
    """The name that a trial had before names were recorded: the last word of the command that made it."""
    return _checked(Path(str(result["record"]["command"][-1])).name)


def _checked(name: str) -> str:
    if not TRIAL_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a trial")
    return name


def predictions_file(folder: Path, result: Mapping[str, Any]) -> Path:
    """Where a folder of records has the answers of a trial; those of an early one keep its early name."""
    name = recorded_name(result) if "name" in result else early_name(result)
    return folder / "answers" / f"{name}.npz"


def _write_predictions(one: Outcome, folder: Path) -> None:
    if one.predictions is None or not one.result["suites"]:
        return
    predictions = read_results(one.predictions)[0].predictions
    own = {
        key: rows for key, rows in predictions.items() if key.split("/")[0] in one.result["suites"]
    }
    if own:
        file = predictions_file(folder, one.result)
        # Another record may have the same trial with the predictions on other suites.
        write_predictions(file, {**read_predictions(file), **own})


def without_folders(value: Any) -> Any:
    """Absolute paths say nothing to anyone else: the name of the file is kept, in sentences too."""
    if isinstance(value, dict):
        return {key: each if key in NAMES else without_folders(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_folders(each) for each in value]
    return FOLDERS.sub("", value) if isinstance(value, str) else value
