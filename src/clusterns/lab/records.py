"""Records of experiments, small enough to be committed: all numbers, no vectors, no paths.

    results/lab/main.jsonl                  the experiment, then a line for each trial
    results/lab/answers/simcse-1-0f3a.npz   predictions of a trial's model, per example
    results/lab/searches/*.json             what `clusterns lab search` tried

A record is enough to make the tables, comparisons and figures of its trials, and to continue a lab
(:mod:`clusterns.lab.restore`).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterns.errors import UserError
from clusterns.evaluation.results import read_predictions, write_predictions
from clusterns.evaluation.stored import read_results
from clusterns.files import atomic_file, read_json, write_json
from clusterns.lab.experiment import Experiment
from clusterns.lab.identity import recorded_identity, trial_name
from clusterns.lab.outcomes import Line, Outcome, current_names
from clusterns.lab.trial import CURVES
from clusterns.settings import validated

SEARCHES = "searches"
TRIAL_NAME = re.compile(r"\w[\w.-]*-\d+-[0-9a-f]{10}")
FOLDERS = re.compile(r"(?<![^\s'\"(=])/(?:[^/\s'\"]+/)+")
# Names that people chose, such as those of rows, are not paths, even if they look like one.
NAMES = {
    "title", "about", "label", "line", "row", "rows", "first", "second", "beside", "compare", "name",
}  # fmt: skip


@dataclass(frozen=True)
class Record:
    """An experiment and its outcomes."""

    name: str
    budget: str
    experiment: Experiment
    lines: Sequence[Line]

    @property
    def results(self) -> list[Mapping[str, Any]]:
        """The results of all trials."""
        return [one.result for line in self.lines for one in line.outcomes]

    def write(self, folder: Path) -> Path:
        """Write it to ``folder/NAME.jsonl``, after the predictions, so that it never exists without them."""
        for line in self.lines:
            for one in line.outcomes:
                _write_predictions(one, folder)
        lines = [
            {
                "label": line.label, "row": line.row, "point": dict(line.point),
                "beside": line.paper_row,
                "missing": {str(seed): why for seed, why in line.missing.items()},
            }
            for line in self.lines
        ]  # fmt: skip
        experiment = self.experiment.model_dump(mode="json", by_alias=True)
        head = {
            "budget": self.budget, "experiment": experiment, "lines": lines,
            "cells": len(self.results),
        }  # fmt: skip
        trials = [
            {"line": line.label, "seed": one.seed, **one.result, CURVES: one.curves}
            for line in self.lines
            for one in line.outcomes
        ]
        texts = [json.dumps(without_folders(each), ensure_ascii=False) for each in (head, *trials)]
        path = folder / f"{self.name}.jsonl"
        with atomic_file(path) as temporary:
            temporary.write_text("\n".join(texts) + "\n", "utf-8")
        return path

    @classmethod
    def read(cls, path: Path) -> Record:
        """Read what ``write`` wrote."""
        try:
            head, *trials = [json.loads(text) for text in path.read_text("utf-8").splitlines()]
            # Early records lack the number of trials.
            if len(trials) != head.get("cells", len(trials)):
                raise ValueError(f"it has {len(trials)} of {head['cells']} trials")
            outcomes = defaultdict(list)
            for one in trials:
                outcome = Outcome(one["seed"], one, current_names(one[CURVES]))
                outcomes[one["line"]].append(outcome)
            lines = [_line(line, outcomes.pop(line["label"], [])) for line in head["lines"]]
            if outcomes:
                raise ValueError(f"it has trials without a line: {', '.join(sorted(outcomes))}")
            # Some records have the pairs in a list, and their families separately.
            families = {one["name"]: one["compare"] for one in head.get("families", ())}
            values = head["experiment"] | ({"compare": families} if families else {})
            experiment = validated(Experiment, values, f"experiment of {path}")
            return cls(path.stem, head["budget"], experiment, lines)
        except OSError as error:
            raise UserError(f"cannot read the record {path}: {error.strerror}.") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise UserError(f"{path} is not a record of an experiment: {why}.") from error


def _line(head: Mapping[str, Any], outcomes: Sequence[Outcome]) -> Line:
    missing = {int(seed): why for seed, why in head["missing"].items()}
    return Line(head["label"], head["row"], head["point"], head["beside"], outcomes, missing)


def keep_record(record: Record, folder: Path) -> Path:
    """Write a record, unless it would replace one with more trials."""
    path = folder / f"{record.name}.jsonl"
    if path.is_file():
        now = {line.label: len(line.outcomes) for line in record.lines}
        kept = Record.read(path).lines
        fewer = [line.label for line in kept if len(line.outcomes) > now.get(line.label, 0)]
        if fewer:
            raise UserError(
                f"{path} has more trials of {', '.join(fewer)}: put them into the lab first (`clusterns lab restore`), "
                "or remove it."
            )
    return record.write(folder)


def keep_searches(lab: Path, folder: Path) -> list[Path]:
    """Write a record for each search of a lab."""
    found = []
    for file in sorted(lab.glob("search/*/record.json")):
        path = folder / SEARCHES / f"{file.parent.name}.json"
        write_json(path, without_folders(read_json(file)))
        found.append(path)
    return found


def recorded_name(result: Mapping[str, Any]) -> str:
    """The name of a trial: as recorded, or derived from the contents of an early record."""
    name = result.get("name")
    if name is None:
        identity = recorded_identity(result)
        name = early_name(result) if identity is None else trial_name(identity)
    if not TRIAL_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a trial")
    return str(name)


def early_name(result: Mapping[str, Any]) -> str:
    """The name of a trial before names were recorded: the last word of the command that made it."""
    return Path(str(result["record"]["command"][-1])).name


def predictions_file(folder: Path, result: Mapping[str, Any]) -> Path:
    """The file with the predictions of a trial in a folder of records; an early one keeps its early name."""
    name = recorded_name(result) if "name" in result else early_name(result)
    return folder / "answers" / f"{name}.npz"


def _write_predictions(one: Outcome, folder: Path) -> None:
    if one.predictions is None or not one.result["suites"]:
        return
    found = read_results(one.predictions)[0].predictions
    own = {key: rows for key, rows in found.items() if key.split("/")[0] in one.result["suites"]}
    if own:
        file = predictions_file(folder, one.result)
        # Another record may have the same trial with predictions for other suites.
        write_predictions(file, {**read_predictions(file), **own})


def without_folders(value: Any) -> Any:
    """Remove the folders of absolute paths, also within sentences."""
    if isinstance(value, dict):
        return {
            key: each
            if key in NAMES and not (key == "rows" and isinstance(each, dict))
            else without_folders(each)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [without_folders(each) for each in value]
    return FOLDERS.sub("", value) if isinstance(value, str) else value
