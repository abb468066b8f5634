"""The run folder: what a run leaves behind, and where.

recipe.yaml     the resolved recipe
run.json        versions, command, corpus, state of the run
metrics.jsonl   loss, diagnostics and validations, a line of JSON each
checkpoints/    everything that a resume needs
fit/            what the method computed before training, if it did
model/          the final SentenceTransformer, with its model card
results.json    what came out: scores before and after, the best step
report.html     the same for people, with curves and examples
"""

from __future__ import annotations

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

# A run may go on with other values of these: its numbers do not depend on them.
NO_MATTER = {"description", "check_memory"}


class RunSettings(Protocol):
    """Settings that a run folder keeps: a recipe, or those of an adaptation."""

    @property
    def base(self) -> str | None:
        """The encoder that the run starts from."""

    def to_yaml(self) -> str:
        """Every setting."""


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
        """All that a run makes at the top of its folder."""
        return [
            self.recipe_file,
            self.run_file,
            self.metrics_file,
            self.checkpoints,
            self.fit,
            self.model,
            self.results_file,
            self.report_file,
        ]

    @property
    def is_run(self) -> bool:
        """Whether a run was begun here."""
        return self.run_file.is_file()

    @property
    def is_finished(self) -> bool:
        """Whether the run came to its end: the results are written last."""
        return self.results_file.is_file()

    def check(self, resume: bool) -> None:
        """Refuse a folder that this run must not write to."""
        with wrap_os_errors(self.path):
            self._check(resume)

    def _check(self, resume: bool) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"--output {self.path} is a file; name a folder.")
        if self.is_run:
            if not resume:
                raise UserError(
                    f"--output {self.path} holds a run already: add --resume to go on with it, or "
                    "name another folder."
                )
        elif self.path.is_dir() and not is_empty(self.path):
            raise UserError(
                f"--output {self.path} is not empty and holds no run: name another folder."
            )
        elif resume:
            raise UserError(f"--resume: there is no run in {self.path}.")

    def create(self, recipe: RunSettings, corpus: dict[str, Any]) -> None:
        """Begin a run: a folder with its recipe and its record, whole or not at all."""
        record = make_record(corpus=corpus, base=identity_of_base(recipe.base or MINIBERT))
        # An empty folder is filled by name: the record, which makes it a run, comes last.
        with atomic_folder(self.path) as temporary:
            (temporary / self.recipe_file.name).write_text(recipe.to_yaml(), "utf-8")
            write_json(temporary / self.run_file.name, record)

    def check_same(self, recipe: Recipe, fingerprint: str, metric: str | None = None) -> None:
        """A resumed run goes on with the recipe, the text and the validation that it began with."""
        # Recipes of older runs do not say how the text was read; the record does.
        reading = self.record["corpus"].get("reading", {})
        known = {key: value for key, value in reading.items() if key != "sources"}
        begun = load_recipe(str(self.recipe_file), known)
        unread = recipe.unread() & begun.unread()
        for key, value in recipe.model_dump(exclude=unread).items():
            if key not in NO_MATTER and getattr(begun, key, None) != value:
                raise UserError(
                    f"--resume: {key} = {value!r} differs from the run in {self.path}, which has "
                    f"{getattr(begun, key, None)!r}. Resume with the same settings, or name another folder."
                )
        self.check_source(fingerprint, recipe.base)
        begun_metric = self.record.get("metric", metric)
        if metric is not None and metric not in (begun_metric, current_metric(str(begun_metric))):
            raise UserError(
                f"--resume: the run in {self.path} is validated by {begun_metric}, not by {metric}."
            )

    def check_source(self, fingerprint: str, base: str | None) -> None:
        """Refuse another text or another base than the run began with."""
        if self.record["corpus"]["fingerprint"] != fingerprint:
            raise UserError(
                f"--resume: the corpus is not the text that the run in {self.path} began with."
            )
        identity = identity_of_base(base or MINIBERT)
        if self.record.get("base", identity) != identity:
            raise UserError(
                f"--resume: the base is not the one that the run in {self.path} began with: its weights have "
                "changed. Name another folder and begin anew."
            )

    @property
    def record(self) -> dict[str, Any]:
        """The record of the run."""
        return read_json(self.run_file)

    def note(self, **values: Any) -> None:
        """Add to the record."""
        write_json(self.run_file, {**self.record, **values})
