"""Whole suites, on small made files in the real layouts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clusterns.evaluation import hub
from clusterns.evaluation.catalog import CATALOG, EvaluationData
from clusterns.evaluation.datasets import LabeledTexts, Retrieval, ScoredPairs
from clusterns.evaluation.plan import find_jobs
from clusterns.evaluation.runner import EvaluationContext, Found, run_job
from clusterns.vectors.embed import Embedder
from tests.helpers.hash_encoder import HashEncoder

WORDS = ["cat", "dog", "tree", "car", "house", "sun", "rain", "book"]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvaluationData:
    """STS13, STS-B, TREC and AG, far smaller than the real ones."""
    monkeypatch.setattr(hub, "reachable", lambda: False)
    monkeypatch.setattr(hub, "_folder", _no_folder)
    monkeypatch.setenv("CLUSTERNS_CACHE", str(tmp_path / "cache"))
    random = np.random.default_rng(0)

    def sentence() -> str:
        return " ".join(random.choice(WORDS, size=4))

    sts = tmp_path / "STS/STS13-en-test"
    sts.mkdir(parents=True)
    for subset in ("FNWN", "headlines", "OnWN"):
        lines = [f"{sentence()}\t{sentence()}" for _ in range(20)]
        (sts / f"STS.input.{subset}.txt").write_text("\n".join(lines) + "\n")
        gold = [str(score) for score in random.integers(0, 6, size=20)]
        (sts / f"STS.gs.{subset}.txt").write_text("\n".join(gold) + "\n")
    (tmp_path / "STS/STSBenchmark").mkdir()
    rows = [f"g\tf\ty\t{i}\t{i % 6}\t{sentence()}\t{sentence()}" for i in range(40)]
    (tmp_path / "STS/STSBenchmark/sts-test.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "TREC").mkdir()
    for file, count in (("train_5500.label", 60), ("TREC_10.label", 20)):
        kinds = ["NUM:x number", "HUM:y human"]
        rows = [f"{kinds[i % 2]} {sentence()}" for i in range(count)]
        (tmp_path / "TREC" / file).write_text("\n".join(rows) + "\n")
    rows = [f"{i % 4}\t{WORDS[i % 4]} {WORDS[i % 4]} {sentence()}" for i in range(80)]
    (tmp_path / "agnewsdataraw-8000").write_text("\n".join(rows) + "\n")
    for name in ("STS13", "STS-B", "TREC", "AG"):
        smaller = CATALOG.sets[name].model_copy(update={"rows": ()})
        monkeypatch.setitem(CATALOG.sets, name, smaller)
    return EvaluationData(tmp_path)


@pytest.fixture
def context() -> EvaluationContext:
    return EvaluationContext(Embedder(HashEncoder()), kmeans_runs=3)


def _no_folder(*_: object) -> str:
    raise hub.UnavailableError("no network in tests")


def found_by(context: EvaluationContext, data: EvaluationData, *suites: str) -> dict[str, Found]:
    plan = find_jobs(suites, data)
    return {f"{job.suite}/{job.name}": run_job(context, job) for job in plan.jobs}


def test_all_suites_and_nothing_encoded_twice(
    context: EvaluationContext, data: EvaluationData
) -> None:
    found = found_by(context, data, "sts", "transfer", "clustering", "geometry")
    encoder = context.embed.model
    assert isinstance(encoder, HashEncoder)
    encoded = [sentence for call in encoder.calls for sentence in call]
    assert len(encoded) == len(set(encoded)) == context.embed.encoded
    assert len(encoder.calls) == 4  # geometry stands on sentences of STS

    assert list(found) == [
        "sts/STS13", "sts/STS-B", "transfer/TREC", "clustering/AG", "geometry/STS-B"
    ]  # fmt: skip
    sts13 = found["sts/STS13"][0]["STS13"]
    assert set(sts13.details) == {"FNWN", "headlines", "OnWN"}
    assert sts13.source == "STS/STS13-en-test"
    predictions = found["sts/STS-B"][1]
    assert list(predictions) == ["sts"]  # the gold scores are others' work
    assert predictions["sts"].shape == (40,)
    sets, predictions = found["transfer/TREC"]
    assert sets["TREC"].rows == 20
    assert predictions["transfer"].mean() * 100 == pytest.approx(sets["TREC"].value)
    ag = found["clustering/AG"][0]["AG"]
    assert 40 < ag.value < 100
    assert ag.spread is not None
    assert "AMI" in ag.details
    assert list(found["geometry/STS-B"][0]) == ["alignment", "uniformity", "anisotropy"]


def test_geometry_on_the_hubs_text_has_other_names(
    context: EvaluationContext, data: EvaluationData
) -> None:
    (job,) = find_jobs(["geometry"], data).jobs
    assert isinstance(job.data, ScoredPairs)
    sets, _ = run_job(context, replace(job, data=replace(job.data, variant="Hub")))
    assert list(sets) == ["alignment (Hub)", "uniformity (Hub)", "anisotropy (Hub)"]


def test_own_sets_of_three_kinds(context: EvaluationContext, data: EvaluationData) -> None:
    pairs = ScoredPairs(
        ["cat", "dog"], ["cat", "sun"], np.array([5.0, 0.0]), "pairs", "a/pairs.csv"
    )
    texts = LabeledTexts(
        ["cat", "cat cat", "sun", "sun sun"], np.array([0, 0, 1, 1]), None, "texts"
    )
    queries = Retrieval(["cat", "sun"], ["cat cat", "sun sun"], [frozenset([0]), frozenset([1])])
    outcomes = [run_job(context, job) for job in find_jobs([], data, [pairs, texts, queries]).jobs]
    sets = {name: one for found, _ in outcomes for name, one in found.items()}
    metrics = {name: (one.metric, round(one.value)) for name, one in sets.items()}
    assert metrics["pairs"] == ("Spearman", 100)
    assert metrics["texts"] == ("clustering accuracy", 100)
    assert metrics["queries"] == ("nDCG@10", 100)
    assert sets["pairs"].source == "pairs.csv"
    predictions = outcomes[0][1]
    assert predictions["gold/own"].tolist() == [5, 0]
    assert predictions["clusters/own"].tolist() == [0, 1]
    assert len({one.digest for one in sets.values()}) == 3
