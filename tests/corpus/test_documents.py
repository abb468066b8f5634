from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clusterns.corpus import lines
from clusterns.corpus.prepare import prepare_corpus
from clusterns.errors import UserError


def groups(*files: Path, **settings: object) -> list[set[str]]:
    """The sentences of each document, in the order of the documents."""
    corpus = prepare_corpus(
        [str(file) for file in files],
        cache=files[0].parent / "cache",
        progress=False,
        **settings,  # type: ignore[arg-type]
    )
    assert corpus.dataset.features["document"].dtype == "int64"
    found: dict[int, set[str]] = {}
    for row in corpus.dataset:
        found.setdefault(row["document"], set()).add(row["text"])
    return list(found.values())


def made(folder: Path, name: str, content: str) -> Path:
    (folder / name).write_text(content, "utf-8")
    return folder / name


POEM = "roses are red\nviolets are blue\n\n \nsugar is sweet\nroses are red\n\nso are you\n"


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_paragraphs_of_text(tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK", block)
    # A duplicate stays with its first document.
    assert groups(made(tmp_path, "a.txt", POEM), document="paragraph") == [
        {"roses are red", "violets are blue"},
        {"sugar is sweet"},
        {"so are you"},
    ]


def test_files_and_lines_of_text(tmp_path: Path) -> None:
    files = [made(tmp_path, "a.txt", POEM), made(tmp_path, "b.txt", "so are we\nand they too\n")]
    assert groups(*files, document="file") == [
        {"roses are red", "violets are blue", "sugar is sweet", "so are you"},
        {"so are we", "and they too"},
    ]
    # The first paragraph of one file is not the first paragraph of another.
    assert len(groups(*files, document="paragraph")) == 4
    line = made(tmp_path, "c.txt", "It rained. We stayed in.\nWe read a book. It was good.\n")
    assert groups(line, document="line", split_sentences=True, min_words=1) == [
        {"It rained.", "We stayed in."},
        {"We read a book.", "It was good."},
    ]


def tables(folder: Path) -> list[tuple[Path, str | None, str]]:
    rows = [("x", "one two"), ("7", "three four"), ("x", "five six"), ("7", "one two")]
    pq.write_table(pa.table({"doc": [r[0] for r in rows], "text": [r[1] for r in rows]}),
                   folder / "a.parquet")  # fmt: skip
    records = "".join(json.dumps({"doc": doc, "text": text}) + "\n" for doc, text in rows)
    return [
        (made(folder, "a.csv", "doc,text\n" + "".join(f"{d},{t}\n" for d, t in rows)), None, "doc"),
        (made(folder, "a", "".join(f"{d}\t{t}\n" for d, t in rows)), "2", "1"),
        (made(folder, "a.jsonl", records.replace('"7"', "7")), None, "doc"),
        (folder / "a.parquet", None, "doc"),
    ]


@pytest.mark.parametrize("kind", range(4))
def test_a_column_of_documents(tmp_path: Path, kind: int) -> None:
    path, column, document = tables(tmp_path)[kind]
    assert groups(path, column=column, document=document) == [
        {"one two", "five six"},
        {"three four"},
    ]


def test_the_same_name_in_two_tables_is_the_same_document(tmp_path: Path) -> None:
    first = made(tmp_path, "a.csv", "doc,text\nx,one two\ny,three four\n")
    second = made(tmp_path, "b.jsonl", '{"doc": "x", "text": "five six"}\n')
    assert groups(first, second, document="doc") == [{"one two", "five six"}, {"three four"}]


def test_a_row_without_a_name_is_a_document_of_its_own(tmp_path: Path) -> None:
    path = made(tmp_path, "a.csv", "doc,text\n,one two\n,three four\nx,five six\n")
    assert groups(path, document="doc") == [{"one two"}, {"three four"}, {"five six"}]


def test_what_has_no_documents(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="is plain text: it has no tabs, and so no column of document"
    ):
        groups(made(tmp_path, "a.txt", POEM), document="chapter")
    with pytest.raises(UserError, match="no column 'doc'; its columns are 'text'"):
        groups(made(tmp_path, "a.csv", "text\nhello you\n"), document="doc")


def test_without_documents_a_corpus_is_what_it_was(tmp_path: Path) -> None:
    """The fingerprint of a text file and of JSON lines is that of runs begun long ago."""
    text = made(tmp_path, "a.txt", POEM)
    record = made(tmp_path, "a.jsonl", '{"body": "hello you"}\n')
    plain = prepare_corpus([str(text)], cache=tmp_path / "cache", progress=False)
    assert plain.dataset.column_names == ["text"]
    assert plain.fingerprint == "1de4d2f7e99181f13e5ee323b1f91858"
    found = prepare_corpus([str(record)], column="body", cache=tmp_path / "cache", progress=False)
    assert found.fingerprint == "864492ea851fffc8b3d515595c4ae003"
    asked = prepare_corpus([str(text)], document="file", cache=tmp_path / "cache", progress=False)
    assert asked.fingerprint != plain.fingerprint
