"""What an experiment found so far: the values and the curves of every line, seed by seed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from clusterns.evaluation.results.store import FOLDER as EVALUATION
from clusterns.lab.cells import ANSWERS, CURVES, Cell, is_restored
from clusterns.lab.engines.program import error_in
from clusterns.lab.experiment import Experiment
from clusterns.record import current_metric

Curve = list[tuple[int, float]]
# What of metrics.jsonl is no curve over the steps that anyone looks at.
NO_CURVE = {"step", "epoch", "learning_rate", "event", "eval_runtime"}


@dataclass(frozen=True)
class Outcome:
    """What came out of one cell."""

    seed: int
    result: Mapping[str, Any]
    """All of its result.json, and every setting of the run as `resolved`."""
    curves: Mapping[str, Curve]
    """(step, value) by the key of metrics.jsonl; scores x100."""
    answers: Path | None = None
    """Where its answers lie row by row: its run folder, or a file of results. None: not at hand."""

    @property
    def values(self) -> Mapping[str, float]:
        """Its numbers by name, such as ``sts/Avg.``."""
        return self.result["values"]


@dataclass(frozen=True)
class Line:
    """A line of the table: one setting, all seeds of it."""

    label: str
    row: str
    """The row of the experiment that it comes from; a grid makes several lines of one."""
    point: Mapping[str, Any] = field(default_factory=dict)
    """The value of the grid."""
    beside: str | None = None
    """The paper's row that stands beside it."""
    outcomes: Sequence[Outcome] = ()
    missing: Mapping[int, str] = field(default_factory=dict)
    """Why there is no result, by seed."""

    def values(self, name: str) -> dict[int, float]:
        """A value by seed, where there is one."""
        return {one.seed: one.values[name] for one in self.outcomes if name in one.values}

    def curves(self, name: str) -> list[Curve]:
        """A curve of every seed that has it."""
        name = current_metric(name)
        return [one.curves[name] for one in self.outcomes if one.curves.get(name)]


def gather(experiment: Experiment, cells: Sequence[Cell]) -> list[Line]:
    """The lines of an experiment, with what there is of them."""
    names = {id(row): name for name, row in experiment.rows.items()}
    found = []
    for label, row, point in experiment.lines():
        own = sorted((c for c in cells if c.line == label), key=lambda cell: cell.seed)
        if not own:
            continue
        done = [cell for cell in own if cell.is_done]
        missing = {cell.seed: _why(cell) for cell in own if cell not in done}
        outcomes = [_outcome(cell) for cell in done]
        found.append(Line(label, names[id(row)], point, row.beside_at(point), outcomes, missing))
    return found


def _outcome(cell: Cell) -> Outcome:
    result = cell.result or {}
    if is_restored(result):
        answers = cell.folder / ANSWERS
        curves = current_names(result[CURVES])
        return Outcome(cell.seed, result, curves, answers if answers.is_file() else None)
    run = cell.folder / "run"
    recipe = run / "recipe.yaml"
    resolved = yaml.safe_load(recipe.read_text("utf-8")) if recipe.is_file() else None
    judged = run if (run / EVALUATION).is_dir() else None
    return Outcome(
        cell.seed, {**result, "resolved": resolved}, read_curves(run / "metrics.jsonl"), judged
    )


def _why(cell: Cell) -> str:
    if not cell.log.is_file():
        return "not run"
    return error_in(cell.log) or "begun, not ended"


def read_curves(metrics: Path) -> dict[str, Curve]:
    """The curves in a metrics.jsonl; none where there is no such file."""
    curves: dict[str, Curve] = {}
    if not metrics.is_file():
        return {}
    for text in metrics.read_text("utf-8").splitlines():
        line = json.loads(text)
        for key, value in line.items():
            if key in NO_CURVE or key.endswith("_per_second"):
                continue
            scale = 100 if key.startswith("eval_") else 1
            curves.setdefault(key, []).append((line["step"], round(scale * value, 5)))
    return current_names(curves)


def current_names(curves: Mapping[str, Curve]) -> dict[str, Curve]:
    """Curves by the current names of their metrics."""
    return {current_metric(name): curve for name, curve in curves.items()}
