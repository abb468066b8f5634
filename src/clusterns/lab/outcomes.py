"""The outcomes of an experiment so far: values and curves of every line, by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from clusterns.evaluation.stored import FOLDER as EVALUATION
from clusterns.lab.experiment import Experiment
from clusterns.lab.identity import superseded
from clusterns.lab.program import error_in
from clusterns.lab.specs import DEV_LAST
from clusterns.lab.trial import CURVES, PREDICTIONS, Trial, is_restored
from clusterns.record import current_metric
from clusterns.training.folder import read_metrics

Curve = list[tuple[int, float]]
# Keys of metrics.jsonl that are not kept as curves.
NO_CURVE = {"step", "epoch", "learning_rate", "event", "eval_runtime"}
MIN_SHARE = 0.01  # of the denominator, below which negatives count as inactive


@dataclass(frozen=True)
class Outcome:
    """The results of one trial."""

    seed: int
    result: Mapping[str, Any]
    """All of result.json, and every setting of the run as `resolved`."""
    curves: Mapping[str, Curve]
    """(step, value) by the key of metrics.jsonl; scores x100."""
    predictions: Path | None = None
    """Location of its predictions per example: its run folder, or a file of results. None: missing."""

    @property
    def values(self) -> Mapping[str, float]:
        """Numbers by name, such as ``sts/Avg.``; in an early record, the last step's score comes from the curve."""
        values: dict[str, float] = self.result["values"]
        if self.result.get("run", {}).get("steps") == 0:  # its only score is that of the base
            return {name: value for name, value in values.items() if name != DEV_LAST}
        curve = self.curves.get(current_metric(f"eval_{self.result.get('metric')}"))
        return {DEV_LAST: curve[-1][1], **values} if curve else values

    @property
    def is_base(self) -> bool:
        """Whether no step was better than the base, so that the scores are the base's."""
        run = self.result.get("run", {})
        return run.get("steps", 0) > 0 and run.get("best_step") == 0


@dataclass(frozen=True)
class Line:
    """A line of the table: all seeds of one setting."""

    label: str
    row: str
    """The row of the experiment; with a grid, a row has several lines."""
    point: Mapping[str, Any] = field(default_factory=dict)
    """The value of the grid."""
    paper_row: str | None = None
    """The paper's row to compare it with."""
    outcomes: Sequence[Outcome] = ()
    missing: Mapping[int, str] = field(default_factory=dict)
    """The reason why there is no result, by seed."""

    @property
    def is_base(self) -> bool:
        """Whether all runs ended as their base."""
        return bool(self.outcomes) and all(one.is_base for one in self.outcomes)

    def values(self, name: str) -> dict[int, float]:
        """A value by seed, for the seeds that have it."""
        return {one.seed: one.values[name] for one in self.outcomes if name in one.values}

    def at(self, name: str, step: int) -> list[float]:
        """The values of the curves at a step."""
        return [value for curve in self.curves(name) for at, value in curve if at == step]

    def curves(self, name: str) -> list[Curve]:
        """The curve of each seed that has it."""
        name = current_metric(name)
        return [one.curves[name] for one in self.outcomes if one.curves.get(name)]


def gather(experiment: Experiment, trials: Sequence[Trial]) -> list[Line]:
    """The lines of an experiment, with their outcomes so far."""
    found = []
    for label, row, point in experiment.lines():
        own = sorted((t for t in trials if t.line == label), key=lambda trial: trial.seed)
        outcomes = [_outcome(trial) for trial in own if trial.is_done]
        missing = {trial.seed: _why(trial) for trial in own if not trial.is_done}
        if own:
            paper_row = experiment.paper_row(row, point)
            found.append(Line(label, row, point, paper_row, outcomes, missing))
    return found


def _outcome(trial: Trial) -> Outcome:
    result = trial.result or {}
    if is_restored(result):
        predictions = trial.folder / PREDICTIONS
        curves = current_names(result[CURVES])
        return Outcome(trial.seed, result, curves, predictions if predictions.is_file() else None)
    run = trial.folder / "run"
    recipe = run / "recipe.yaml"
    resolved = yaml.safe_load(recipe.read_text("utf-8")) if recipe.is_file() else None
    evaluated = run if (run / EVALUATION).is_dir() else None
    return Outcome(
        trial.seed, {**result, "resolved": resolved}, read_curves(run / "metrics.jsonl"), evaluated
    )


def _why(trial: Trial) -> str:
    if not trial.log.is_file():
        return "not run"
    return error_in(trial.log) or "started, not finished"


def read_curves(metrics: Path) -> dict[str, Curve]:
    """The curves in a metrics.jsonl; empty without the file."""
    curves: dict[str, Curve] = {}
    for line in read_metrics(metrics):
        for key, value in line.items():
            if key in NO_CURVE or key.endswith("_per_second"):
                continue
            scale = 100 if key.startswith("eval_") else 1
            curves.setdefault(key, []).append((line["step"], round(scale * value, 5)))
    return curves


def current_names(curves: Mapping[str, Curve]) -> dict[str, Curve]:
    """Curves by the current names of their metrics."""
    return {current_metric(name): curve for name, curve in curves.items()}


def selected_earlier(one: Outcome) -> bool:
    """Whether the model is from an earlier step than the last one, or is the base."""
    run = one.result.get("run", {})
    return bool(run.get("steps")) and run.get("best_step", run["steps"]) != run["steps"]


def remarks(one: Outcome) -> list[str]:
    """Remarks on a trial: an old revision, a part without effect, scores of the base."""
    run, settings = one.result.get("run", {}), one.result.get("settings", {})
    found = [f"superseded {each}" for each in superseded(one.result)]
    if one.is_base:
        last = one.values.get(DEV_LAST)
        found.append(
            "no step was better than the base, so the scores are the base's"
            + ("" if last is None else f"; dev of the last step: {last:.2f}")
        )
    started = run.get("clustering_started_at")
    if settings.get("method") == "clusterns" and "steps" in run and started is None:
        found.append("clustering never started, so it is SimCSE")
    if started == 1 and "start_step" not in settings:
        found.append("sigma was reached at step 1, so its value had no effect")
    guided = [value for _, value in one.curves.get("judged_false_negatives", [])]
    if guided and not any(guided):
        found.append("the guide called no pair a false negative")
    shares = [value for _, value in one.curves.get("hard_negative_share", [])]
    if shares and (share := sum(shares) / len(shares)) < MIN_SHARE:
        found.append(f"centroids made up {100 * share:.2g} % of the denominator")
    return found
