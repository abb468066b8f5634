from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from clusterns.encoder.load import load_base, load_model
from clusterns.errors import UserError
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.validators import HalvesEvaluator
from clusterns.reports.charts import line_chart
from clusterns.reports.comparison import compare_models
from clusterns.reports.page import make_report, report_after, setting_differences
from clusterns.reports.summary import read_summaries, read_summary
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import load_recipe
from tests.helpers.texts import NASTY, subject_texts

DIAGNOSTICS = {
    "loss": 1.5, "positive_similarity": 0.8, "negative_similarity": 0.4,
    "hard_negative_similarity": 0.5, "same_cluster_similarity": 0.6, "false_negative_rate": 0.9,
}  # fmt: skip


def finished_run(folder: Path, base: Path, **settings: object) -> Path:
    """A run folder as a run leaves it; the model is another pooling of the base."""
    texts = folder.with_suffix(".txt")
    texts.parent.mkdir(parents=True, exist_ok=True)
    texts.write_text("\n".join([*subject_texts(300), *NASTY]), "utf-8")
    recipe = load_recipe("cpu-small", {"base": str(base), "heldout": 30, **settings})
    run = RunFolder(folder)
    reading = {"sources": [str(texts)], "column": None, "split_sentences": False}
    run.create(recipe, {"reading": reading, "fingerprint": "x", "training": 280, "heldout": 30})
    run.note(metric="eval_heldout_halves_mrr", base_score=0.1)
    lines = [{"step": 0, "eval_heldout_halves_mrr": 0.1}]
    for step in (10, 20, 30):
        lines += [
            {"step": step, **DIAGNOSTICS},
            {"step": step, "eval_heldout_halves_mrr": step / 99},
        ]
    run.metrics_file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    load_base(str(base), "cls").save_pretrained(str(run.model))
    results = {
        "metric": "heldout_halves_mrr", "base_score": 0.1, "best_score": 0.3, "best_step": 30,
        "steps": 30, "clustering_started_at": 12,
    }  # fmt: skip
    run.results_file.write_text(json.dumps(results))
    return folder


@pytest.fixture(scope="module")
def run(tiny_bert, tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("runs") / "one", tiny_bert)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CLUSTERNS_CACHE", str(tmp_path / "cache"))


class Outside(HTMLParser):
    """Collects all that a page would load, and its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "img", "link", "iframe", "object", "embed", "base"):
            self.found.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "action") and not (value or "").startswith(
                "#"
            ):
                self.found.append(f"{name}={value}")
            if name.startswith("on"):
                self.found.append(name)


def outside(page: str) -> list[str]:
    parser = Outside()
    parser.feed(page)
    return parser.found + re.findall(r"url\((?!#)[^)]*\)|@import", page)


def test_the_report_of_a_run_has_everything_and_loads_nothing(run):
    path = make_report([run])
    assert path == run / "report.html"
    page = path.read_text("utf-8")
    assert outside(page) == []
    for words in (
        "0.1000 → 0.3000", "+0.2000", "clustering starts", "false-negative rate", "best at step 30",
        "halves find each other, MRR", "alignment of halves", "uniformity", "95 % intervals",
        "Nearest to the trained model", "have no topic", "hard negatives", "learning_rate",
        "sentence-transformers", "one.txt", "held-out sentences",
    ):  # fmt: skip
        assert words in page, words


def test_text_of_the_corpus_is_never_html(run, tmp_path):
    page = make_report([run], tmp_path / "r.html", sentences=NASTY * 2 + NASTY).read_text("utf-8")
    assert outside(page) == []
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "<img" not in page


def test_several_runs_stand_side_by_side_with_what_differs(run, tiny_bert, tmp_path):
    other = finished_run(tmp_path / "other", tiny_bert, sigma=0.7)
    page = make_report([run, other], tmp_path / "both.html", models=False).read_text("utf-8")
    assert "2 runs side by side" in page
    assert outside(page) == []
    first, second = (read_summary(path).settings for path in (run, other))
    assert setting_differences([first, second]) == {"sigma": [0.4, 0.7]}


def test_a_text_or_model_that_is_gone_does_not_cost_the_report(tiny_bert, tmp_path):
    gone = finished_run(tmp_path / "gone", tiny_bert)
    (tmp_path / "gone.txt").unlink()
    page = make_report([gone]).read_text("utf-8")
    assert "The models were not compared" in page
    assert "0.1000 → 0.3000" in page


def test_where_clustering_never_started_it_is_said(tiny_bert, tmp_path):
    never = "Clustering never started in this run."
    for method, expected in {"clusterns": True, "simcse": False}.items():
        folder = RunFolder(finished_run(tmp_path / method, tiny_bert, method=method))
        assert never not in make_report([folder.path], models=False).read_text("utf-8")
        results = json.loads(folder.results_file.read_text())
        folder.results_file.write_text(json.dumps({**results, "clustering_started_at": None}))
        page = make_report([folder.path], models=False).read_text("utf-8")
        assert (never in page) is expected


def test_an_adaptation_shows_how_far_it_went(tiny_bert, tmp_path):
    folder = finished_run(tmp_path / "adapted", tiny_bert)
    found = {"purpose": 0.1, "kept": 0.93, "kept_general": 0.99}
    facts = {
        "purpose": "topics", "share": 0.5, "measured": {"0.0": found, "0.5": found, "1.0": found},
        "refused": {"1.0": "own text: 0.800 kept"}, "before": 0.2, "after": 0.25, "interval": [-0.1, 0.2],
    }  # fmt: skip
    results = RunFolder(folder).results_file
    results.write_text(json.dumps({**json.loads(results.read_text()), "facts": facts}))
    page = make_report([folder], models=False).read_text()
    assert "50 %" in page
    assert "refused, own text: 0.800 kept" in page
    assert "0.930, 0.990" in page
    assert "from 0.200 to 0.250, no clear difference" in page  # as the console says
    assert "heldout halves mrr, before and after" not in page


def test_unfinished_runs_are_refused_and_those_of_one_name_told_apart(run, tiny_bert, tmp_path):
    with pytest.raises(UserError, match="is not a run folder"):
        read_summary(tmp_path)
    half = finished_run(tmp_path / "half", tiny_bert)
    (half / "results.json").unlink()
    with pytest.raises(UserError, match="has not finished"):
        make_report([half])
    assert [summary.name for summary in read_summaries([run, run])] == [str(run), str(run)]
    assert read_summary(run).name == "one"


def test_the_figures_are_those_of_the_evaluation(tiny_bert):
    before, after = (load_model(str(tiny_bert), pooling) for pooling in ("mean", "max"))
    texts = [text + " and some more words" for text in subject_texts(60)]
    random = np.random.default_rng(0)
    pairs = ScoredPairs(texts[:30], texts[30:], random.uniform(0, 5, 30), "mine")
    seen = compare_models([*texts, texts[0]], before, after, pairs)
    assert seen.sentences == 60
    scores = {score.name: score for score in seen.scores}
    halves = scores["halves find each other, MRR"]
    evaluator = HalvesEvaluator(texts)
    assert halves.before == pytest.approx(evaluator(before)["heldout_halves_mrr"], abs=1e-4)
    assert halves.after == pytest.approx(evaluator(after)["heldout_halves_mrr"], abs=1e-4)
    assert halves.before_interval[0] < halves.before < halves.before_interval[1]
    spearman = scores["mine, Spearman"]
    cosines = [
        (before.encode(pairs.sentences1, normalize_embeddings=True)
         * before.encode(pairs.sentences2, normalize_embeddings=True)).sum(axis=1)
    ]  # fmt: skip
    assert spearman.before == pytest.approx(spearmanr(cosines[0], pairs.scores)[0], abs=1e-3)
    for example in seen.examples:
        assert {mark for _, mark in example.before} <= {"kept", "lost"}
        assert {mark for _, mark in example.after} <= {"kept", "gained"}


def test_the_same_model_twice_shows_no_difference(tiny_bert):
    model = load_base(str(tiny_bert), "mean")
    seen = compare_models([text + " and more words" for text in subject_texts(40)], model, model)
    assert seen.change.shared.tolist() == [10] * 40
    assert all(score.before == score.after and score.verdict != "better" for score in seen.scores)


def test_a_chart_is_the_same_every_time_and_takes_the_colours_of_the_page():
    curves = {"a <b>": [(0, 0.1), (10, 0.4)], "c": [(0, 0.2), (10, 0.1)], "empty": []}
    options = {"label": "score", "mark": 4, "mark_label": "starts", "best": (10, 0.4)}
    chart = line_chart("x", curves, **options)
    assert chart == line_chart("x", curves, **options)
    assert all(words in chart for words in ("var(--c0)", "var(--c1)", "starts"))
    assert not any(words in chart for words in ("#0102", "<b>"))


def test_after_training_a_report_is_written_once_and_its_faults_do_not_cost_the_run(
    tiny_bert, tmp_path, monkeypatch
):
    run = finished_run(tmp_path / "run", tiny_bert)
    assert report_after([run]) == run / "report.html"
    first = (run / "report.html").stat().st_mtime_ns
    assert report_after([run]) == run / "report.html"
    assert (run / "report.html").stat().st_mtime_ns == first
    (run / "report.html").unlink()
    monkeypatch.setattr("clusterns.reports.page.compare_models", lambda *_: 1 / 0)
    assert report_after([run]) is None
    assert not (run / "report.html").exists()
