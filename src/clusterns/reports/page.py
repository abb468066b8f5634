"""The report: one HTML page about runs and their models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from sentence_transformers import SentenceTransformer

from clusterns.adaptation.scores import summarize
from clusterns.console import duration, log
from clusterns.data.corpus import prepare_corpus
from clusterns.data.split import FRACTION, heldout_sentences
from clusterns.errors import UserError
from clusterns.evaluation.catalog import EvaluationData
from clusterns.evaluation.custom import read_scored_pairs
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.stored import read_results
from clusterns.evaluation.tables import results_tables
from clusterns.explorer.corpus import INDEX, load_base_of
from clusterns.files import atomic_file
from clusterns.reports.charts import Curve, line_chart
from clusterns.reports.comparison import MAX_SENTENCES, ModelComparison, compare_models
from clusterns.reports.summary import RunSummary, read_summaries
from clusterns.tables import Table
from clusterns.training.folder import RunFolder
from clusterns.vectors.index import Index
from clusterns.vectors.store import COMPLETE

MIN_SENTENCES = 12
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
class ReportSection:
    """One run in the report."""

    run: RunSummary
    charts: dict[str, Markup]
    comparison: ModelComparison | None
    """None if it was not possible, for the ``reason``."""
    reason: str | None


def make_report(
    runs: Sequence[Path],
    output: Path | None = None,
    *,
    sentences: Sequence[str] | None = None,
    models: bool = True,
) -> Path:
    """Write the report of one run into its folder, or of several into ``output``.

    Args:
        runs: folders of finished runs.
        output: HTML file; default: ``report.html`` in the folder of the first run.
        sentences: held-out sentences to compare models on; default: those of the run.
        models: whether to load and compare models.
    """
    summaries = read_summaries(runs)
    path = output or RunFolder(runs[0]).report_file
    sections = []
    for number, run in enumerate(summaries):
        comparison, reason = None, None
        if models:
            try:
                comparison = compare_run(run, sentences)
            except UserError as error:  # write the report even if the corpus was moved
                reason = str(error)
        sections.append(ReportSection(run, draw_charts(number, run), comparison, reason))
    content = render(sections)
    with atomic_file(path) as temporary:
        temporary.write_text(content, "utf-8")
    return path


def report_after(runs: Sequence[Path], sentences: Sequence[str] | None = None) -> Path | None:
    """Write the report at the end of training, into the folder of the first run.

    Returns None if it fails, since the run itself has finished. Keeps a report that is newer than
    its run.
    """
    folder = RunFolder(runs[0])
    report, results = folder.report_file, folder.results_file
    try:
        if report.is_file() and report.stat().st_mtime >= results.stat().st_mtime:
            return report
        log("Writing the report.")
        return make_report(runs, sentences=sentences)
    except Exception as error:
        log(f"Could not write the report ({error}). Try: clusterns report {runs[0]}")
        return None


# ---- comparison of models


def compare_run(run: RunSummary, sentences: Sequence[str] | None = None) -> ModelComparison:
    """Compare the model of a run with its base."""
    folder = RunFolder(run.path)
    if not folder.model.is_dir():
        raise UserError(f"{run.path} holds no model.")
    texts = list(sentences) if sentences is not None else sentences_of(run)
    if len(set(texts)) < MIN_SENTENCES:
        raise UserError(f"fewer than {MIN_SENTENCES} sentences were held out.")
    base, _ = load_base_of(run.path)
    held_out = sentences is not None or "reading" in run.record["corpus"]
    model = SentenceTransformer(str(folder.model))
    return compare_models(texts, base, model, scored_pairs_of(run), held_out)


def sentences_of(run: RunSummary) -> list[str]:
    """The held-out sentences of a run; for a quickstart, a sample of the search index."""
    reading = run.record["corpus"].get("reading")
    if reading is not None:
        dataset = prepare_corpus(**reading, progress=False).dataset
        fraction = run.settings.get("heldout_fraction", FRACTION)
        return heldout_sentences(dataset, run.settings["heldout"], run.settings["seed"], fraction)
    if (run.path / INDEX / COMPLETE).is_file():
        texts = Index.open(run.path / INDEX, progress=False).texts
        rows = np.sort(np.random.default_rng(0).permutation(len(texts))[:MAX_SENTENCES])
        return [text for text in texts.take(rows).to_pylist() if text]
    raise UserError("its corpus is missing.")


def scored_pairs_of(run: RunSummary) -> ScoredPairs | None:
    """The scored pairs that chose the best step, if they can be found."""
    dev = run.settings.get("dev")
    if dev is None or not str(run.results["metric"]).endswith("_spearman"):
        return None
    try:
        if Path(dev).is_file():
            return read_scored_pairs(Path(dev))
        return EvaluationData().pairs("STS-B dev")
    except UserError:
        return None


# ---- the page


def draw_charts(number: int, run: RunSummary) -> dict[str, Markup]:
    """The curves of a run; ``number`` makes their names unique on the page."""
    results, charts = run.results, {}
    if len(run.validations) > 1:
        metric = results["metric"]
        best = (results["best_step"], results["best_score"])
        charts["validation"] = line_chart(
            f"validation{number}",
            {metric: run.validations},
            label=metric.replace("_", " "),
            best=best,
        )
    start = results.get("clustering_started_at")
    mark = {} if start is None else {"mark": start, "mark_label": "clustering starts"}
    similarities = {name: run.curve(key) for key, name in SIMILARITIES.items()}
    if any(similarities.values()):
        charts["similarity"] = line_chart(
            f"similarity{number}", similarities, label="mean cosine", **mark
        )
    if rate := run.curve("false_negative_rate"):
        charts["false_negatives"] = line_chart(
            f"rate{number}", {"false negatives": rate}, label="false-negative rate",
            bottom_at_zero=True, **mark,
        )  # fmt: skip
    if loss := run.curve("loss"):
        charts["loss"] = line_chart(f"loss{number}", {"loss": loss}, label="loss")
    return charts


def render(sections: Sequence[ReportSection]) -> str:
    """Render the page."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["duration"] = duration
    environment.filters["summarize"] = summarize
    source = files("clusterns.reports").joinpath("template.html").read_text("utf-8")
    runs = [section.run for section in sections]
    return environment.from_string(source).render(
        sections=sections,
        shared_charts=shared_charts(runs),
        differences=setting_differences([run.settings for run in runs]),
        tables=evaluation_tables(runs),
    )


def shared_charts(runs: Sequence[RunSummary]) -> list[Markup]:
    """The validation curves of several runs in one chart, for each score that they share."""
    by_metric: dict[str, dict[str, Curve]] = {}
    for run in runs:
        if len(run.validations) > 1:  # one point is not a curve
            by_metric.setdefault(run.results["metric"], {})[run.name] = run.validations
    return [
        line_chart(f"shared{n}", curves, label=metric.replace("_", " "))
        for n, (metric, curves) in enumerate(by_metric.items())
        if len(curves) > 1
    ]


def setting_differences(settings: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The settings in which runs differ, with the value of each run."""
    keys = dict.fromkeys(key for one in settings for key in one if key != "description")
    table = {key: [one.get(key) for one in settings] for key in keys}
    return {key: row for key, row in table.items() if any(value != row[0] for value in row)}


def evaluation_tables(runs: Sequence[RunSummary]) -> list[Table]:
    """The results of `clusterns evaluate`, if any."""
    found = []
    for run in runs:
        try:
            for result in read_results(run.path):
                result.name = run.name
                found.append(result)
        except UserError:  # not evaluated
            continue
    return results_tables(found, lambda suite: {}) if found else []
