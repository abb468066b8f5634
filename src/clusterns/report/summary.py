"""What a run folder tells, without loading any model."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from clusterns.errors import UserError
from clusterns.files import read_json
from clusterns.record import current_metric
from clusterns.training.callbacks import read_metrics
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import load_recipe

LONGEST = 30 * 86_400  # seconds: more is a file that was copied or a run that rested


@dataclass(frozen=True)
class Story:
    """One run, as its folder tells it."""

    name: str
    path: Path
    settings: dict[str, Any]
    record: dict[str, Any]
    results: dict[str, Any]
    metrics: list[dict[str, Any]]
    took: float | None
    """Seconds from the begin to the end, rests included; None where nobody knows."""

    @property
    def validations(self) -> list[tuple[int, float]]:
        """(step, score) of every validation by the score that decides."""
        key = current_metric(str(self.record.get("metric", "")))
        return [(line["step"], line[key]) for line in self.metrics if key in line]

    def curve(self, key: str) -> list[tuple[int, float]]:
        """(step, value) of a logged figure."""
        return [(line["step"], line[key]) for line in self.metrics if line.get(key) is not None]

    @property
    def corpus(self) -> list[tuple[str, str]]:
        """What it was trained on, in words."""
        facts = self.record["corpus"]
        told = []
        if "reading" in facts:
            sources = ", ".join(Path(one).name or one for one in facts["reading"]["sources"])
            told.append(("text", sources))
        if "docstrings" in facts:
            of = facts["docstrings"]
            told.append(
                ("text", f"{of['sentences']:,} sentences of docstrings, {of['packages']} packages")
            )
        counts = facts.get("counts", {})
        if counts:
            dropped = counts["read"] - counts["kept"]
            told.append(("lines", f"{counts['read']:,} read, {dropped:,} dropped"))
        for key, word in (("training", "for training"), ("heldout", "kept out of it")):
            if key in facts:
                told.append((word, f"{facts[key]:,} sentences"))
        return told

    @property
    def gain(self) -> float:
        """How much better the model became, by the score that decides."""
        return float(self.results["best_score"] - self.results["base_score"])


def read_story(path: Path) -> Story:
    """Read a finished run."""
    folder = RunFolder(path)
    if not folder.is_finished:
        state = "a run that is not finished" if folder.is_run else "no run"
        raise UserError(f"{path} holds {state}: a report is about a run that came to its end.")
    try:
        record, recipe = folder.record, load_recipe(str(folder.recipe_file))
        return Story(
            name=path.resolve().name,
            path=path,
            settings=recipe.model_dump(exclude=recipe.unread()),
            record=record,
            results=read_json(folder.results_file),
            metrics=read_metrics(folder.metrics_file) if folder.metrics_file.is_file() else [],
            took=_took(record, folder.results_file),
        )
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path} cannot be read as a run: {error}.") from error


def read_stories(paths: list[Path]) -> list[Story]:
    """Read runs, and tell those of the same name apart."""
    stories = [read_story(path) for path in paths]
    names = [story.name for story in stories]
    return [
        story if names.count(story.name) == 1 else Story(**{**vars(story), "name": str(story.path)})
        for story in stories
    ]


def _took(record: dict[str, Any], last: Path) -> float | None:
    if "date" not in record:
        return None
    begun = datetime.fromisoformat(record["date"])
    took = (datetime.fromtimestamp(last.stat().st_mtime, timezone.utc) - begun).total_seconds()
    return took if 0 < took < LONGEST else None


def length(seconds: float) -> str:
    """A time in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
