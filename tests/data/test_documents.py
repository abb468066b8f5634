from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset, load_from_disk

from clusterns.data import lines
from clusterns.data.corpus import prepare_corpus
from clusterns.data.documents import document_pairs, pair_adjacent
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
        UserError, match="is plain text without tabs, so it has no column of document"
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


def slow(documents: list[int]) -> set[tuple[int, int]]:
    """Each document on its own, its rows taken from the front."""
    pairs = set()
    for document in set(documents):
        rows = [row for row, of in enumerate(documents) if of == document]
        while rows:
            first = rows.pop(0)
            pairs.add((first, rows.pop(0) if rows else first))
    return pairs


def test_pairs_by_hand() -> None:
    # Rows 0, 2 and 5 are one document, 1 and 4 another; 3 is alone.
    rows, partners = pair_adjacent(np.array([7, -1, 7, 0, -1, 7]))
    assert set(zip(rows.tolist(), partners.tolist(), strict=True)) == {
        (0, 2), (5, 5), (1, 4), (3, 3),
    }  # fmt: skip
    assert [each.tolist() for each in pair_adjacent(np.array([], dtype=np.int64))] == [[], []]


@pytest.mark.parametrize("kinds", [1, 3, 40, 1000])
def test_against_one_document_at_a_time(kinds: int) -> None:
    documents = np.random.default_rng(kinds).integers(-kinds, kinds, size=61)
    rows, partners = pair_adjacent(documents)
    assert set(zip(rows.tolist(), partners.tolist(), strict=True)) == slow(documents.tolist())
    # No sentence is in two pairs.
    together = [*rows, *partners[partners != rows]]
    assert sorted(together) == list(range(61))


def test_rows_read_their_texts(tmp_path: Path) -> None:
    Dataset.from_dict({"text": list("abcde"), "document": [1, 1, 2, 3, 3]}).save_to_disk(tmp_path)
    files = set(tmp_path.rglob("*"))
    rows = load_from_disk(tmp_path)
    for pairs in (document_pairs(rows), pickle.loads(pickle.dumps(document_pairs(rows)))):
        assert pairs.column_names == ["anchor", "positive"]
        assert list(pairs) == [
            {"anchor": "a", "positive": "b"},
            {"anchor": "c", "positive": "c"},
            {"anchor": "d", "positive": "e"},
        ]
        assert pairs[[2, 0]] == {"anchor": ["d", "a"], "positive": ["e", "b"]}
    # Rows that are a choice of others are no other than their texts.
    assert list(document_pairs(rows.select([4, 0, 1]))) == [
        {"anchor": "a", "positive": "b"},
        {"anchor": "e", "positive": "e"},
    ]
    assert set(tmp_path.rglob("*")) == files  # nothing was copied
    # Without documents, each sentence has the next one for a positive.
    assert list(document_pairs(rows.remove_columns("document"), "next")) == [
        {"anchor": "a", "positive": "b"},
        {"anchor": "c", "positive": "d"},
        {"anchor": "e", "positive": "e"},
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [({}, "this text has no documents"), ({"document": [1, 2]}, "one sentence")],
    ids=str,
)
def test_without_documents_the_remedy_is_said(columns: dict[str, list[int]], message: str) -> None:
    with pytest.raises(UserError, match=message):
        document_pairs(Dataset.from_dict({"text": ["a", "b"], **columns}))
