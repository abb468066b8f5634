from __future__ import annotations

import os
from pathlib import Path

import huggingface_hub
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clusterns.corpus import sources
from clusterns.corpus.formats import Columns
from clusterns.corpus.sources import FileSource, HubSource, find_sources
from clusterns.errors import UserError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ("b.txt", "a.jsonl.gz", "deep/c.csv", "README.md", ".hidden/d.txt"):
        (tmp_path / name).write_text("text\n")
    return tmp_path


def test_a_folder_stands_for_its_data_files(folder: Path) -> None:
    paths = [
        source.path for source in find_sources([str(folder)]) if isinstance(source, FileSource)
    ]
    assert paths == [folder / "a.jsonl.gz", folder / "b.txt", folder / "deep" / "c.csv"]


def test_files_keep_their_order(folder: Path) -> None:
    names = [str(folder / "b.txt"), str(folder / "README.md")]
    assert find_sources(names) == [FileSource(Path(name)) for name in names]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.txt", "there is no file or folder missing.txt"),
        ("some/missing.jsonl.gz", "there is no file or folder some/missing.jsonl.gz"),
        ("what is this", "there is no file or folder"),
        ("x" * 300, "cannot read x+: File name too long"),
    ],
)
def test_what_is_not_there(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        find_sources([name])


def test_no_source_at_all() -> None:
    with pytest.raises(UserError, match="name at least one"):
        find_sources([])


def test_a_folder_without_data(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("text")
    with pytest.raises(UserError, match="holds no text"):
        find_sources([str(tmp_path)])


def test_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="a pipe must be saved first"):
        find_sources([str(tmp_path / "pipe")])


def test_identity_is_content_and_kind(tmp_path: Path) -> None:
    first, same, other, edited = (tmp_path / name for name in ("a.txt", "b.txt", "a.csv", "c.txt"))
    for path in (first, same, other):
        path.write_text("some text\n")
    edited.write_text("same text\n")
    identities = [FileSource(path).identity() for path in (first, same, other, edited)]
    assert identities[0] == identities[1]
    assert len(set(identities)) == 3


class FakeHub:
    """Stands for the Hub, which tests cannot reach."""

    sha = "abc123"

    def dataset_info(self, name: str) -> FakeHub:
        if name != "owner/name":
            raise huggingface_hub.errors.OfflineModeIsEnabled("no network here")
        return self


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("owner/name", HubSource("owner/name", None, "train", "abc123")),
        ("owner/name:en", HubSource("owner/name", "en", "train", "abc123")),
        ("owner/name:en:test", HubSource("owner/name", "en", "test", "abc123")),
        ("owner/name::test", HubSource("owner/name", None, "test", "abc123")),
    ],
)
def test_hub_names(name: str, expected: HubSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "HfApi", FakeHub)
    assert find_sources([name]) == [expected]
    assert "abc123" in expected.identity()


def test_a_hub_dataset_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "HfApi", FakeHub)
    with pytest.raises(
        UserError, match=r"no file or folder my/texts, and the Hub.*no network here"
    ):
        find_sources(["my/texts"])


def test_a_dataset_streams_through_the_datasets_library(tmp_path: Path) -> None:
    # The library reads a folder by the same code as a repository of the Hub.
    texts = [f"row {number}" for number in range(20_000)]
    pq.write_table(pa.table({"n": range(20_000), "sentence": texts}), tmp_path / "train.parquet")
    pq.write_table(pa.table({"n": [1], "sentence": ["other split"]}), tmp_path / "test.parquet")
    read: list[int] = []
    batches = list(HubSource(str(tmp_path)).batches(None, read.append))
    assert [text for batch in batches for text in batch.to_pylist()] == texts
    assert len(batches) > 1
    assert sum(read) > 0
    other = HubSource(str(tmp_path), split="test").batches("sentence", read.append)
    assert next(other).to_pylist() == ["other split"]
    with pytest.raises(UserError, match=r"cannot read the dataset .*dev"):
        list(HubSource(str(tmp_path), split="dev").batches(None, read.append))
    with pytest.raises(UserError, match="no column 'text'"):
        list(HubSource(str(tmp_path)).batches("text", read.append))
    with pytest.raises(UserError, match="column 'n' holds int64"):
        list(HubSource(str(tmp_path)).batches("n", read.append))
    rows = next(HubSource(str(tmp_path)).rows(Columns("sentence", "n"), read.append))
    assert rows.slice(0, 2).to_pylist() == [
        {"text": "row 0", "id": "0"},
        {"text": "row 1", "id": "1"},
    ]
