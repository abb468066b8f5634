"""The run folder: the files of a run.

recipe.yaml     the resolved recipe
run.json        versions, command, corpus, state of the run
metrics.jsonl   loss, diagnostics and validations, one JSON object per line
checkpoints/    everything that a resume needs
fit/            what the method computed before training, if it did
model/          the final SentenceTransformer, with its model card
results.json    scores before and after, and the best step
report.html     the same for people, with curves and examples
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from clusterns.encoder.locate import MINIBERT, identity_of_base
from clusterns.errors import UserError
from clusterns.files import (
    atomic_folder,
    is_empty,
    read_json,
    recover_folder,
    wrap_os_errors,
    write_json,
)
from clusterns.record import current_metric, make_record
from clusterns.training.recipe import Recipe, load_recipe

# A run may be resumed with other values of these settings: its numbers do not depend on them.
RESUME_IGNORES = {"description", "check_memory"}


class RunSettings(Protocol):
    """Settings that a run folder keeps: a recipe, or those of an adaptation."""

    @property
    def base(self) -> str | None:
        """The encoder that the run starts from."""

    def to_yaml(self) -> str:
        """Every setting."""


@dataclass(frozen=True)
class RunResult:
    """The result of a run."""

    metric: str
    """Name of the validation score."""
    base_score: float
    """The score of the base, at step 0."""
    best_score: float
    """The score of the final model."""
    best_step: int
    """The step of the final model: the last one, or the best by dev (0 if no step beat the base)."""
    steps: int
    """Number of training steps."""
    clustering_started_at: int | None = None
    """The step at which clustering started, if it did."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Further facts reported by the method."""

    @property
    def harm(self) -> str | None:
        """A warning if the model is worse than the base, for a score that was not used to select the step."""
        if self.best_score >= self.base_score:
            return None
        collapsed = self.best_score < self.base_score / 2
        return (
            f"Warning: {self.metric} fell from {self.base_score:.4f} to {self.best_score:.4f}. "
            + ("The model has probably collapsed: lower learning_rate. " if collapsed else "")
            + "The last step is kept. To keep the best one, use --dev label-free or your own scored pairs."
        )


class RunFolder:
    """Paths and records of one run."""

    def __init__(self, path: Path) -> None:
        recover_folder(path)
        self.path = path
        self.recipe_file = path / "recipe.yaml"
        self.run_file = path / "run.json"
        self.metrics_file = path / "metrics.jsonl"
        self.checkpoints = path / "checkpoints"
        self.fit = path / "fit"
        self.model = path / "model"
        self.results_file = path / "results.json"
        self.report_file = path / "report.html"

    @property
    def entries(self) -> list[Path]:
        """All files that a run writes directly in its folder."""
        return [each for name, each in vars(self).items() if name != "path"]

    @property
    def is_run(self) -> bool:
        """Whether a run has started here."""
        return self.run_file.is_file()

    @property
    def is_finished(self) -> bool:
        """Whether the run is complete (the results are written last)."""
        return self.results_file.is_file()

    def check(self, resume: bool) -> None:
        """Refuse a folder that this run must not write to."""
        with wrap_os_errors(self.path):
            if self.path.exists() and not self.path.is_dir():
                raise UserError(f"--output {self.path} is a file. Choose a folder.")
            if self.is_run:
                if not resume:
                    raise UserError(
                        f"--output {self.path} already holds a run. Add --resume to continue it, or "
                        "choose another folder."
                    )
            elif self.path.is_dir() and not is_empty(self.path):
                raise UserError(
                    f"--output {self.path} is not empty and does not contain a run. Choose another folder."
                )
            elif resume:
                raise UserError(f"--resume: there is no run in {self.path}.")

    def create(self, recipe: RunSettings, corpus: dict[str, Any]) -> None:
        """Start a run: write its recipe and its record, both or neither."""
        record = make_record(corpus=corpus, base=identity_of_base(recipe.base or MINIBERT))
        # An empty folder is filled file by file: the record, which makes it a run, comes last.
        with atomic_folder(self.path) as temporary:
            (temporary / self.recipe_file.name).write_text(recipe.to_yaml(), "utf-8")
            write_json(temporary / self.run_file.name, record)

    def check_same(self, recipe: Recipe, fingerprint: str, metric: str | None = None) -> None:
        """Refuse to resume with another recipe, text, base or validation than the run started with."""
        # Recipes of older runs lack the settings for reading the text; the record has them.
        reading = self.record["corpus"].get("reading", {})
        known = {key: value for key, value in reading.items() if key != "sources"}
        existing = load_recipe(str(self.recipe_file), known)
        unused = recipe.unused_keys() & existing.unused_keys()
        for key, value in recipe.model_dump(exclude=unused | RESUME_IGNORES).items():
            if (old := getattr(existing, key, None)) != value:
                raise UserError(
                    f"--resume: {key} = {value!r} differs from the run in {self.path}, which has "
                    f"{old!r}. Resume with the same settings, or choose another folder."
                )
        self.check_source(fingerprint, recipe.base)
        old_metric = str(self.record.get("metric", metric))
        if metric is not None and metric not in (old_metric, current_metric(old_metric)):
            raise UserError(
                f"--resume: the run in {self.path} is validated by {old_metric}, not by {metric}."
            )

    def check_source(self, fingerprint: str, base: str | None) -> None:
        """Refuse another text or another base than the run started with."""
        record = self.record
        if record["corpus"]["fingerprint"] != fingerprint:
            raise UserError(
                f"--resume: the corpus is not the text that the run in {self.path} started with."
            )
        identity = identity_of_base(base or MINIBERT)
        if record.get("base", identity) != identity:
            raise UserError(
                f"--resume: the weights of the base have changed since the run in {self.path} started. "
                "Choose another folder and start a new run."
            )

    @property
    def record(self) -> dict[str, Any]:
        """The record of the run."""
        return read_json(self.run_file)

    def note(self, **values: Any) -> None:
        """Add to the record."""
        write_json(self.run_file, {**self.record, **values})


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a metrics file, without a truncated last one; empty without the file."""
    lines = []
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        with suppress(ValueError):
            values = json.loads(line)
            lines.append({current_metric(name): value for name, value in values.items()})
    return lines
