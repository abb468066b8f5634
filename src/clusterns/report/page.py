"""The report itself: what runs tell, what their models show, as one html file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from clusterns.errors import UserError
from clusterns.evaluation.results.store import read_results
from clusterns.evaluation.results.tables import results_tables
from clusterns.files import atomic_file
from clusterns.report.charts import Curve, line_chart
from clusterns.report.comparison import Examination
from clusterns.report.summary import Story, length
from clusterns.tables import Table

SIMILARITIES = {
    "positive_similarity": "positives",
    "negative_similarity": "in-batch negatives",
    "hard_negative_similarity": "hard negatives",
    "same_cluster_similarity": "same cluster",
    "nearest_centroid_similarity": "nearest centroid",
    "between_centroids_similarity": "between centroids",
    "queue_similarity": "queue",
}


@dataclass(frozen=True)
class Chapter:
    """One run in the report."""

    story: Story
    seen: Examination | None
    """None where the model or the sentences are not at hand."""
    why_not: str | None
    charts: dict[str, Markup]


def chapter(
    number: int, story: Story, seen: Examination | None, why_not: str | None = None
) -> Chapter:
    """Draw what one run tells."""
    results = story.results
    charts: dict[str, Markup] = {}
    if len(story.validations) > 1:
        best = (results["best_step"], results["best_score"])
        charts["validation"] = line_chart(
            f"validation{number}", {results["metric"]: story.validations},
            label=results["metric"].replace("_", " "), best=best,
        )  # fmt: skip
    start = results.get("clustering_started_at")
    mark = {"mark": start, "mark_label": "clustering starts"} if start is not None else {}
    similar = {name: story.curve(key) for key, name in SIMILARITIES.items()}
    if any(similar.values()):
        charts["similarity"] = line_chart(
            f"similarity{number}", similar, label="mean cosine", **mark
        )
    rate = story.curve("false_negative_rate")
    if rate:
        charts["false_negatives"] = line_chart(
            f"rate{number}", {"false negatives": rate}, label="false-negative rate",
            bottom_at_zero=True, **mark,
        )  # fmt: skip
    if story.curve("loss"):
        charts["loss"] = line_chart(f"loss{number}", {"loss": story.curve("loss")}, label="loss")
    return Chapter(story, seen, why_not, charts)


def render(chapters: Sequence[Chapter]) -> str:
    """The page."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["in_words"] = length
    template = environment.from_string(
        files("clusterns.report").joinpath("template.html").read_text("utf-8")
    )
    return template.render(
        chapters=chapters,
        together=together([one.story for one in chapters]),
        differing=differing([one.story.settings for one in chapters]),
        tables=evaluation_tables([one.story for one in chapters]),
    )


def together(stories: Sequence[Story]) -> list[Markup]:
    """The validations of runs in one chart, for each score that several runs share."""
    runs: dict[str, dict[str, Curve]] = {}
    for story in stories:
        if len(story.validations) > 1:  # one point is no curve
            runs.setdefault(story.results["metric"], {})[story.name] = story.validations
    return [
        line_chart(f"together{n}", curves, label=metric.replace("_", " "))
        for n, (metric, curves) in enumerate(runs.items())
        if len(curves) > 1
    ]


def write_report(chapters: Sequence[Chapter], path: Path) -> None:
    """Write the page, whole or not at all."""
    content = render(chapters)
    with atomic_file(path) as temporary:
        temporary.write_text(content, "utf-8")


def differing(settings: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The settings that runs do not share, with the value of each run."""
    keys = list(dict.fromkeys(key for one in settings for key in one))
    table = {key: [one.get(key) for one in settings] for key in keys if key != "description"}
    return {key: row for key, row in table.items() if any(value != row[0] for value in row)}


def evaluation_tables(stories: Sequence[Story]) -> list[Table]:
    """What `clusterns evaluate` has found, where it was asked."""
    found = []
    for story in stories:
        try:
            for result in read_results(story.path):
                result.name = story.name
                found.append(result)
        except UserError:  # it was not evaluated
            continue
    return results_tables(found, lambda suite: {}) if found else []
