"""Whole suites, on small made files in the real layouts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clusterns.errors import UserError
from clusterns.evaluation.data import catalogue, hub
from clusterns.evaluation.data.find import EvaluationData
from clusterns.evaluation.data.sets import LabelledTexts, Retrieval, ScoredPairs
from clusterns.evaluation.evaluators import SuiteEvaluator
from clusterns.evaluation.results.results import Results
from clusterns.evaluation.suites import Bench, run_own, run_suites
from clusterns.vectors.embed import Embedder
from tests.hash_encoder import HashEncoder

WORDS = ["cat", "dog", "tree", "car", "house", "sun", "rain", "book"]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """STS13, STS-B, TREC and AG, far smaller than the real ones."""
    monkeypatch.setattr(hub, "reachable", lambda: False)
    monkeypatch.setattr(hub, "_folder", _no_folder)
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
        smaller = replace(catalogue.CATALOGUE[name], rows=())
        monkeypatch.setitem(catalogue.CATALOGUE, name, smaller)
    return Bench(Embedder(HashEncoder()), EvaluationData(tmp_path), seeds=3)


def _no_folder(*_: object) -> str:
    raise hub.NotAtHandError("no network in tests")


def test_all_suites_and_nothing_encoded_twice(bench: Bench) -> None:
    results = Results("m")
    run_suites(bench, ("sts", "transfer", "clustering", "geometry"), results)
    encoder = bench.embed.model
    assert isinstance(encoder, HashEncoder)
    encoded = [sentence for call in encoder.calls for sentence in call]
    assert len(encoded) == len(set(encoded)) == bench.embed.encoded
    assert len(encoder.calls) == 3  # geometry stands on sentences of STS

    sts = results.suites["sts"]
    assert list(sts.sets) == ["STS13", "STS-B"]
    assert set(sts.sets["STS13"].details) == {"FNWN", "headlines", "OnWN"}
    assert sts.sets["STS13"].source == "STS/STS13-en-test"
    assert sts.average is None
    assert sts.missing == ["STS12", "STS14", "STS15", "STS16", "SICK-R"]
    assert results.items["sts/STS-B"].shape == (40,)
    assert results.suites["transfer"].sets["TREC"].rows == 20
    assert results.items["transfer/TREC"].mean() * 100 == pytest.approx(
        results.suites["transfer"].sets["TREC"].value
    )
    ag = results.suites["clustering"].sets["AG"]
    assert 40 < ag.value < 100
    assert ag.spread is not None
    assert "AMI" in ag.details
    assert list(results.suites["geometry"].sets) == ["alignment", "uniformity", "anisotropy"]


def test_nothing_at_hand_is_one_message(tmp_path: Path, bench: Bench) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    nowhere = Bench(bench.embed, EvaluationData(empty))
    with pytest.raises(UserError, match="Not at hand: MR .*, MRPC "):
        run_suites(nowhere, ["transfer"], Results("m"))


def test_own_sets_of_three_kinds(bench: Bench) -> None:
    results = Results("m")
    pairs = ScoredPairs(
        ["cat", "dog"], ["cat", "sun"], np.array([5.0, 0.0]), "pairs", "a/pairs.csv"
    )
    texts = LabelledTexts(
        ["cat", "cat cat", "sun", "sun sun"], np.array([0, 0, 1, 1]), None, "texts"
    )
    queries = Retrieval(["cat"], ["cat cat", "sun"], [frozenset({0})], "queries")
    suite = run_own(bench, [pairs, texts, queries], results)
    metrics = {name: (one.metric, round(one.value)) for name, one in suite.sets.items()}
    assert metrics["pairs"] == ("Spearman", 100)
    assert metrics["texts"] == ("accuracy", 100)
    assert metrics["queries"] == ("nDCG@10", 100)
    assert suite.sets["pairs"].source == "pairs.csv"
    assert results.items["gold/own/pairs"].tolist() == [5, 0]
    with pytest.raises(UserError, match="two files are called pairs"):
        run_own(bench, [pairs, pairs], results)


def test_suite_as_an_evaluator(bench: Bench) -> None:
    class Card:
        def set_evaluation_metrics(self, *_: object) -> None:
            pass

    encoder = HashEncoder()
    encoder.model_card_data = Card()  # type: ignore[attr-defined]
    evaluator = SuiteEvaluator("sts", bench.data.folder)
    metrics = evaluator(encoder)
    assert set(metrics) == {"sts_STS13", "sts_STS-B", "sts_mean"}
    mean = (metrics["sts_STS13"] + metrics["sts_STS-B"]) / 2
    assert metrics[evaluator.primary_metric] == pytest.approx(mean)
    assert not SuiteEvaluator("geometry", bench.data.folder).greater_is_better
    with pytest.raises(UserError, match="no suite 'stss'"):
        SuiteEvaluator("stss")
