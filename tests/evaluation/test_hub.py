"""The Hub, as a snapshot folder on this disk: what would be there after a download."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import huggingface_hub
import pandas
import pytest

from clusterns.evaluation import hub
from clusterns.evaluation.catalog import CATALOG, VARIABLE, EvaluationData
from clusterns.evaluation.hub import HubSet, UnavailableError

PAIRS = ("sentence1", "sentence2", "score")


def hub_set(
    *columns: str, splits: tuple[str, ...] = ("test",), config: str | None = None
) -> HubSet:
    return HubSet(
        repo="x/y", revision="abcdef0123", splits=splits, columns=columns, config=config
    )  # fmt: skip


@pytest.fixture
def snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Path:
    folder = tmp_path / "snapshot"
    folder.mkdir()
    monkeypatch.setattr(hub, "_folder", lambda *_: str(folder))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    monkeypatch.delenv(VARIABLE, raising=False)
    return folder


def test_pairs(snapshot: Path) -> None:
    rows = {"sentence1": [" a  b", "c"], "sentence2": ["d", ""], "score": [4.0, 1.5]}
    pandas.DataFrame(rows).to_parquet(snapshot / "test-00000.parquet")
    pairs = hub_set(*PAIRS).pairs("Y")
    assert (pairs.sentences1, pairs.sentences2) == (["a b", "c"], ["d", "."])
    assert pairs.scores.tolist() == [4.0, 1.5]
    assert pairs.source == "Hub: x/y@abcdef01"


def test_task_with_joined_splits(snapshot: Path) -> None:
    for split, texts in (("train", ["a", "b"]), ("validation", ["c"]), ("test", ["d", "e"])):
        rows = {"s1": texts, "s2": texts, "label": [i % 2 for i in range(len(texts))]}
        pandas.DataFrame(rows).to_parquet(snapshot / f"{split}-00000.parquet")
    task = hub_set("s1", "s2", "label", splits=("train+validation", "test")).task("Y")
    assert task.train.texts == task.train.partners == ["a", "b", "c"]
    assert task.test is not None
    assert task.test.labels.tolist() == [0, 1]


def test_a_set_from_the_hub_is_another_variant(snapshot: Path) -> None:
    rows = {"sentence1": [f"a {i}" for i in range(1500)], "sentence2": "b"}
    scored = pandas.DataFrame(rows).assign(score=[i % 5 for i in range(1500)])
    scored.to_parquet(snapshot / "validation-00000.parquet")
    found = EvaluationData().pairs("STS-B dev")
    assert len(found.scores) == 1500
    assert (found.name, found.variant, found.label) == ("STS-B dev", "Hub", "STS-B dev (Hub)")


def test_every_revision_is_a_commit() -> None:
    sets = [entry.hub for entry in CATALOG.sets.values() if entry.hub]
    assert len(sets) == 11
    assert all(re.fullmatch("[0-9a-f]{40}", one.revision) for one in sets)


def test_the_revision_is_what_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def download(repo: str, **options: Any) -> str:
        asked.append((repo, options["revision"], options["allow_patterns"]))
        raise ConnectionError

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    monkeypatch.setattr(hub, "reachable", lambda: True)
    with pytest.raises(UnavailableError, match="the Hub refused: ConnectionError"):
        hub_set("a", "b", config="c").texts("Y")
    assert asked == [("x/y", "abcdef0123", ["README.md", "c/*"])] * 2  # the cache, then the Hub


def test_unreachable_is_said_without_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "reachable", lambda: False)
    with pytest.raises(UnavailableError, match="cannot be reached"):
        hub_set("a").texts("x")


def test_half_a_copy_counts_as_unavailable(snapshot: Path) -> None:
    (snapshot / "README.md").write_text("nothing else was downloaded")
    with pytest.raises(UnavailableError, match="x/y is unreadable"):
        hub_set("a", "b").texts("Y")
