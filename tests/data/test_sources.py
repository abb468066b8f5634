from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clusterns.data.columns import Columns
from clusterns.data.sources import (
    FileSource,
    HubSource,
    check_sources,
    describe_columns,
    find_sources,
)
from clusterns.errors import UserError

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ("b.txt", "a.jsonl.gz", "deep/c.csv", "README.md", ".hidden/d.txt"):
        (tmp_path / name).write_text("text\n")
    return tmp_path


def paths(*names: Path) -> list[Path]:
    found = find_sources([str(name) for name in names])
    return [source.path for source in found if isinstance(source, FileSource)]


def test_a_folder_stands_for_its_data_files(folder: Path) -> None:
    assert paths(folder) == [folder / name for name in ("a.jsonl.gz", "b.txt", "deep/c.csv")]
    assert paths(folder / "b.txt", folder / "README.md") == [folder / "b.txt", folder / "README.md"]
    for name in ("a.jsonl.gz", "b.txt", "deep/c.csv"):
        (folder / name).rename(folder / "notes.png")
    (folder / "README.md").rename(folder / "README.MD")
    assert paths(folder) == [folder / "README.MD"]  # alone, or among other markup, it is text
    (folder / "a.rst").write_text("text\n")
    assert paths(folder) == [folder / "README.MD", folder / "a.rst"]


def test_only_new_kinds_of_text_have_a_new_identity(tmp_path: Path) -> None:
    old = {name: hashlib.sha256(f".txt {Path(name).suffix} text".encode()).hexdigest()
           for name in ("a.txt", "a", "a.log", "a.md", "a.rst", "a.html")}  # fmt: skip
    for name in old:
        (tmp_path / name).write_text("text")
    new = {name: FileSource(tmp_path / name).identity() for name in old}
    assert {name for name in old if new[name] == old[name]} == {"a.txt", "a", "a.log"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.txt", "file or folder missing.txt does not exist"),
        ("some/missing.jsonl.gz", "file or folder some/missing.jsonl.gz does not exist"),
        ("what is this", "file or folder what is this does not exist"),
        ("x" * 300, "cannot read x+: File name too long"),
    ],
)
def test_what_is_not_there(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        find_sources([name])


def test_what_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="pass at least one"):
        find_sources([])
    (tmp_path / "notes.png").write_text("text")
    with pytest.raises(
        UserError, match=r"contains no text: no \.txt, .*\.ndjson.* or \.parquet file"
    ):
        find_sources([str(tmp_path)])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="Save the output of a pipe first"):
        find_sources([str(tmp_path / "pipe")])
    (tmp_path / "a.txt").write_text("text\n")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UserError, match=r"cannot read .*a.txt: Permission denied"):
        check_sources([str(tmp_path / "a.txt")])


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
    known = "owner/name"

    def dataset_info(self, name: str) -> FakeHub:
        if name != self.known:
            raise huggingface_hub.errors.OfflineModeIsEnabled("no network here")
        return self


@pytest.mark.parametrize(
    ("name", "config", "split"),
    [
        ("owner/name", None, "train"),
        ("owner/name:en", "en", "train"),
        ("owner/name:en:test", "en", "test"),
        ("owner/name::test", None, "test"),
    ],
)
def test_hub_names(
    name: str, config: str | None, split: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub, "HfApi", FakeHub)
    assert find_sources([name]) == [HubSource("owner/name", config, split, "abc123")]


def test_a_cached_hub_dataset_is_read_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "hub" / "datasets--my--texts"
    snapshot = repository / "snapshots" / ("a1" * 20)
    for path, content in (
        (repository / "refs" / "main", snapshot.name),
        (snapshot / "train.csv", "text\nhello you\n"),
    ):
        path.parent.mkdir(parents=True)
        path.write_text(content)
    monkeypatch.setattr(huggingface_hub, "HfApi", FakeHub)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    (found,) = find_sources(["my/texts"])
    assert isinstance(found, HubSource)
    assert found.identity() == f"my/texts:None:train@{snapshot.name}"
    (batch,) = found.rows(Columns(), lambda _: None)
    assert batch["text"].to_pylist() == ["hello you"]


def test_a_prepared_hub_dataset_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub, "HfApi", FakeHub)
    (online,) = find_sources(["owner/name"])
    monkeypatch.setattr(FakeHub, "known", "")
    (offline,) = find_sources(["owner/name"])
    assert offline.identity() == online.identity()
    with pytest.raises(
        UserError, match=r"file or folder my/texts does not exist, and the Hub.*no network here"
    ):
        find_sources(["my/texts"])


def test_a_dataset_streams_through_the_datasets_library(tmp_path: Path) -> None:
    # The library reads a folder by the same code as a repository of the Hub.
    texts = [f"row {number}" for number in range(20_000)]
    pq.write_table(pa.table({"n": range(20_000), "sentence": texts}), tmp_path / "train.parquet")
    pq.write_table(pa.table({"n": [1], "sentence": ["other split"]}), tmp_path / "test.parquet")
    read: list[int] = []

    def batches(split: str = "train", *columns: str) -> Iterator[list[dict[str, str | None]]]:
        source = HubSource(str(tmp_path), split=split)
        return (batch.to_pylist() for batch in source.rows(Columns(*columns), read.append))

    found = list(batches())
    assert [row["text"] for batch in found for row in batch] == texts
    assert len(found) > 1
    assert sum(read) > 0
    assert next(batches("test", "sentence")) == [{"text": "other split", "id": None}]
    first, second, *_ = next(batches("train", "sentence", "n"))
    assert (first, second) == ({"text": "row 0", "id": "0"}, {"text": "row 1", "id": "1"})
    for arguments, message in (
        (("dev",), r"cannot read the dataset .*dev"),
        (("train", "text"), "no column 'text'"),
        (("train", "n"), "column 'n' has type int64"),
    ):
        with pytest.raises(UserError, match=message):
            next(batches(*arguments))


def test_a_refusal_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from clusterns.data.sources import check_sources\n"
        "from clusterns.errors import UserError\n"
        "from clusterns.data.columns import Columns\n"
        "check_sources([sys.argv[1], 'owner/name'], Columns())\n"
        "try:\n    check_sources(['missing.txt'])\n"
        "except UserError as error:\n    print(error)\n"
        "heavy = 'torch transformers datasets pyarrow pandas numpy sklearn scipy huggingface_hub'\n"
        "print(*[name for name in heavy.split() if name in sys.modules])\n"
    )
    for name in ("a.txt", "b.csv", "c.tsv", "d.parquet", "e.zst"):
        (tmp_path / name).write_text("text\n")
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "file or folder missing.txt does not exist.\n\n"


@pytest.mark.parametrize(
    ("name", "content", "columns", "message"),
    [
        ("a.csv", b"a,b\n1,hello\n", Columns("c"), "no column 'c'"),
        ("a.jsonl", b'{"a": "x", "b": "y"}\n', Columns(), "specify the column"),
        ("a.txt", b"\x7fELF\0", Columns(), "is not text"),
        ("a.txt", b"hello\n", Columns("2"), "is plain text"),
        ("a.txt", b"hello\n", Columns(document="chapter"), "is plain text"),
        ("a.csv.gz", b"text\n", Columns(), "truncated or damaged"),
    ],
)
def test_the_beginning_of_a_file_is_looked_at_where_columns_are_known(
    tmp_path: Path, name: str, content: bytes, columns: Columns, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    check_sources([str(tmp_path)])
    with pytest.raises(UserError, match=message):
        check_sources([str(tmp_path)], columns)


def test_what_is_read_of_tables_is_told(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("id,text\n1,hello\n")
    (tmp_path / "c.txt").write_text("hello\n")
    (tmp_path / "d.jsonl").write_text('\n{"body": "hello"}\n')
    pq.write_table(pa.table({"n": [1], "body": ["hello"]}), tmp_path / "e.parquet")
    assert describe_columns(find_sources([str(tmp_path)]), Columns()) == [
        f"{tmp_path / 'a.csv'} and 1 more: the first line is the header; text is column 2 'text'.",
        f"{tmp_path / 'd.jsonl'} and 1 more: text is 'body'.",
    ]
