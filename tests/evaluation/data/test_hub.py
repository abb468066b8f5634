"""The Hub, as a snapshot folder on this disk: what would be there after a download."""

from __future__ import annotations

import re
from pathlib import Path

import pandas
import pytest

from clusterns.evaluation import hub
from clusterns.evaluation.catalog import CATALOGUE, VARIABLE, EvaluationData
from clusterns.evaluation.hub import HubSet, NotAtHandError


@pytest.fixture
def snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "snapshot"
    folder.mkdir()
    monkeypatch.setattr(hub, "_folder", lambda *_: str(folder))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("CLUSTERNS_CACHE", str(tmp_path / "ours"))
    return folder


def test_pairs(snapshot: Path) -> None:
    rows = {"sentence1": [" a  b", "c"], "sentence2": ["d", ""], "score": [4.0, 1.5]}
    pandas.DataFrame(rows).to_parquet(snapshot / "test-00000.parquet")
    pairs = HubSet("x/y", "abcdef0123", ("test",), ("sentence1", "sentence2", "score")).pairs("Y")
    assert pairs.sentences1 == ["a b", "c"]
    assert pairs.sentences2 == ["d", "."]
    assert pairs.scores.tolist() == [4.0, 1.5]
    assert pairs.source == "Hub: x/y@abcdef01"


def test_task_with_joined_splits(snapshot: Path) -> None:
    for split, texts in (("train", ["a", "b"]), ("validation", ["c"]), ("test", ["d", "e"])):
        rows = {"s1": texts, "s2": texts, "label": [i % 2 for i in range(len(texts))]}
        pandas.DataFrame(rows).to_parquet(snapshot / f"{split}-00000.parquet")
    task = HubSet("x/y", "abcdef0123", ("train+validation", "test"), ("s1", "s2", "label")).task(
        "Y"
    )
    assert task.train.texts == ["a", "b", "c"]
    assert task.train.partners == ["a", "b", "c"]
    assert task.test is not None
    assert task.test.labels.tolist() == [0, 1]


def test_resolver_falls_back_to_the_hub_under_another_name(snapshot: Path) -> None:
    n = 1500
    rows = {
        "sentence1": [f"a {i}" for i in range(n)],
        "sentence2": ["b"] * n,
        "score": [i % 5 for i in range(n)],
    }
    pandas.DataFrame(rows).to_parquet(snapshot / "validation-00000.parquet")
    found = EvaluationData().pairs("STS-B dev")
    assert len(found.scores) == n
    assert found.name == "STS-B dev (Hub)"


def test_every_revision_is_a_commit() -> None:
    sets = [entry.hub.__self__ for entry in CATALOGUE.values() if entry.hub]
    assert len(sets) == 11
    for one in sets:
        assert isinstance(one, HubSet)
        assert re.fullmatch("[0-9a-f]{40}", one.revision)


def test_the_revision_is_what_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def folder(*given: object) -> str:
        asked.append(given)
        raise NotAtHandError("no network in tests")

    monkeypatch.setattr(hub, "_folder", folder)
    with pytest.raises(NotAtHandError):
        HubSet("x/y", "abcdef0123", ("test",), ("a", "b"), config="c").texts("Y")
    assert asked == [("x/y", "abcdef0123", "c")]


def test_out_of_reach_is_said_without_retries(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(hub, "reachable", lambda: False)
    with pytest.raises(NotAtHandError, match="cannot be reached"):
        HubSet("clusterns/there-is-no-such-set", "0" * 40, ("test",), ("a",)).texts("x")


def test_half_a_copy_counts_as_not_at_hand(snapshot: Path) -> None:
    (snapshot / "README.md").write_text("nothing else was downloaded")
    with pytest.raises(NotAtHandError, match="x/y is unreadable"):
        HubSet("x/y", "abcdef0123", ("test",), ("a", "b")).texts("Y")
