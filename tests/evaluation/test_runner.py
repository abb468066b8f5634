"""Whole suites, on small made sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clusterns.evaluation.catalog import EvaluationData
from clusterns.evaluation.datasets import LabeledTexts, Retrieval, ScoredPairs, TransferTask
from clusterns.evaluation.plan import Job, find_jobs
from clusterns.evaluation.runner import EvaluationContext, run_job
from clusterns.vectors.embed import Embedder
from tests.helpers.hash_encoder import HashEncoder

WORDS = ["cat", "dog", "tree", "car", "house", "sun", "rain", "book"]
RANDOM = np.random.default_rng(0)


@pytest.fixture
def context() -> EvaluationContext:
    return EvaluationContext(Embedder(HashEncoder()), kmeans_runs=3)


def texts(count: int) -> list[str]:
    return [" ".join(RANDOM.choice(WORDS, size=4)) for _ in range(count)]


def labeled(count: int, classes: int, name: str = "") -> LabeledTexts:
    labels = np.arange(count) % classes
    marked = [f"{WORDS[i]} {WORDS[i]} {text}" for i, text in zip(labels, texts(count), strict=True)]
    return LabeledTexts(marked, labels, name=name)


def pairs(count: int, name: str, variant: str = "", **subsets: slice) -> ScoredPairs:
    scores = np.arange(count) % 6.0
    return ScoredPairs(texts(count), texts(count), scores, name, "", subsets, variant)


def test_all_suites_and_nothing_encoded_twice(context: EvaluationContext) -> None:
    stsb = pairs(40, "STS-B")
    jobs = [
        Job("sts", "STS13", pairs(60, "STS13", FNWN=slice(30), OnWN=slice(30, 60)), "STS/STS13"),
        Job("sts", "STS-B", stsb, ""),
        Job("transfer", "TREC", TransferTask("TREC", labeled(60, 2), labeled(20, 2)), ""),
        Job("clustering", "AG", labeled(80, 4, "AG"), ""),
        Job("geometry", "STS-B", stsb, ""),
    ]
    found = {f"{job.suite}/{job.name}": run_job(context, job) for job in jobs}
    encoder = context.embed.model
    assert isinstance(encoder, HashEncoder)
    encoded = [sentence for call in encoder.calls for sentence in call]
    assert len(encoded) == len(set(encoded)) == context.embed.encoded
    assert len(encoder.calls) == 4  # geometry stands on sentences of STS

    sts13 = found["sts/STS13"][0]["STS13"]
    assert set(sts13.details) == {"FNWN", "OnWN"}
    assert sts13.source == "STS/STS13"
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


def test_geometry_on_the_hubs_text_has_other_names(context: EvaluationContext) -> None:
    sets, _ = run_job(context, Job("geometry", "STS-B (Hub)", pairs(20, "STS-B", "Hub"), "Hub"))
    assert list(sets) == ["alignment (Hub)", "uniformity (Hub)", "anisotropy (Hub)"]


def test_own_sets_of_three_kinds(context: EvaluationContext, tmp_path: Path) -> None:
    own = [
        ScoredPairs(["cat", "dog"], ["cat", "sun"], np.array([5.0, 0.0]), "pairs", "a/pairs.csv"),
        LabeledTexts(["cat", "cat cat", "sun", "sun sun"], np.array([0, 0, 1, 1])),
        Retrieval(["cat", "sun"], ["cat cat", "sun sun"], [frozenset([0]), frozenset([1])]),
    ]
    outcomes = [run_job(context, job) for job in find_jobs([], EvaluationData(tmp_path), own).jobs]
    sets = {name: one for found, _ in outcomes for name, one in found.items()}
    assert {name: (one.metric, round(one.value)) for name, one in sets.items()} == {
        "pairs": ("Spearman", 100),
        "texts": ("clustering accuracy", 100),
        "queries": ("nDCG@10", 100),
    }
    assert sets["pairs"].source == "pairs.csv"
    predictions = outcomes[0][1]
    assert predictions["gold/own"].tolist() == [5, 0]
    assert predictions["clusters/own"].tolist() == [0, 1]
    assert len({one.digest for one in sets.values()}) == 3
