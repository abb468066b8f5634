"""Read the results of a run folder, without loading a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from clusterns.adaptation.settings import read_settings
from clusterns.errors import UserError
from clusterns.files import read_json
from clusterns.record import current_metric
from clusterns.training.folder import RunFolder, read_metrics
from clusterns.training.recipe import load_recipe

MAX_SECONDS = 30 * 86_400  # a longer time means a copied file or a paused run


@dataclass(frozen=True)
class RunSummary:
    """A finished run, as described by its folder."""

    name: str
    path: Path
    settings: dict[str, Any]
    record: dict[str, Any]
    results: dict[str, Any]
    metrics: list[dict[str, Any]]
    seconds: float | None
    """From start to end, pauses included; None if unknown."""

    def curve(self, key: str) -> list[tuple[int, float]]:
        """(step, value) of a logged number."""
        return [(line["step"], line[key]) for line in self.metrics if line.get(key) is not None]

    @property
    def validations(self) -> list[tuple[int, float]]:
        """(step, score) of every validation."""
        return self.curve(current_metric(str(self.record.get("metric", ""))))

    @property
    def corpus(self) -> list[tuple[str, str]]:
        """Describe the training corpus."""
        facts, rows = self.record["corpus"], []
        if "reading" in facts:
            sources = ", ".join(Path(one).name or one for one in facts["reading"]["sources"])
            rows.append(("text", sources))
        if "docstrings" in facts:
            of = facts["docstrings"]
            rows.append(
                ("text", f"{of['sentences']:,} sentences of docstrings, {of['packages']} packages")
            )
        if counts := facts.get("counts"):
            dropped = counts["read"] - counts["kept"]
            rows.append(("lines", f"{counts['read']:,} read, {dropped:,} dropped"))
        for key, label in (("training", "for training"), ("heldout", "held out")):
            if key in facts:
                rows.append((label, f"{facts[key]:,} sentences"))
        return rows

    @property
    def gain(self) -> float:
        """How much the validation score improved."""
        return float(self.results["best_score"] - self.results["base_score"])


def read_summary(path: Path) -> RunSummary:
    """Read a finished run."""
    folder = RunFolder(path)
    if not folder.is_finished:
        state = "is a run that has not finished" if folder.is_run else "is not a run folder"
        raise UserError(f"{path} {state}: a report needs a finished run.")
    try:
        record = folder.record
        return RunSummary(
            name=path.resolve().name,
            path=path,
            settings=_settings(folder.recipe_file),
            record=record,
            results=read_json(folder.results_file),
            metrics=read_metrics(folder.metrics_file) if folder.metrics_file.is_file() else [],
            seconds=_seconds(record, folder.results_file),
        )
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"cannot read {path} as a run: {error}.") from error


def read_summaries(paths: Sequence[Path]) -> list[RunSummary]:
    """Read runs; those with the same name are named by their paths."""
    runs = [read_summary(path) for path in paths]
    names = [run.name for run in runs]
    return [run if names.count(run.name) == 1 else replace(run, name=str(run.path)) for run in runs]


def _settings(file: Path) -> dict[str, Any]:
    """The settings of a run, method first."""
    adapted = read_settings(file)
    if adapted is not None:
        return {"method": f"adaptation for {adapted.purpose}", **adapted.model_dump()}
    recipe = load_recipe(str(file))
    return recipe.model_dump(exclude=recipe.unused_keys())


def _seconds(record: dict[str, Any], last: Path) -> float | None:
    if "date" not in record:
        return None
    begun = datetime.fromisoformat(record["date"])
    ended = datetime.fromtimestamp(last.stat().st_mtime, timezone.utc)
    seconds = (ended - begun).total_seconds()
    return seconds if 0 < seconds < MAX_SECONDS else None
