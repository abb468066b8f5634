"""One's own sets. How lines, headers and columns are read is tested in tests/data."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clusterns.errors import UserError
from clusterns.evaluation.custom import (
    read_labeled_texts,
    read_lines,
    read_queries,
    read_scored_pairs,
)
from tests.helpers.texts import write

PAIRS = "sentence1,sentence2,score\nA cat.,A dog.,2.5\nOne,Two,0\n"


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("a.csv", PAIRS, ""),
        ("a.csv", "A cat.,A dog.,2.5\nOne,Two,0\n", ""),
        ("a.tsv", "score\tsentence2\tsentence1\n2.5\tA dog.\tA cat.\n0\tTwo\tOne\n", ""),
        ("a.tsv", "2.5\tA dog.\tA cat.\n0\tTwo\tOne\n", ":3,2,1"),
        ("a.csv", "x,y,z\nA cat.,2.5,A dog.\nOne,0,Two\n", ":x,z,y"),
        (
            "a.jsonl",
            '{"sentence1": "A cat.", "sentence2": "A dog.", "score": 2.5}\n\n'
            '{"sentence1": "One", "sentence2": "Two", "score": 0}\n',
            "",
        ),
    ],
)
def test_scored_pairs(tmp_path: Path, name: str, text: str, columns: str) -> None:
    pairs = read_scored_pairs(Path(f"{write(tmp_path / name, text)}{columns}"))
    assert pairs.sentences1 == ["A cat.", "One"]
    assert pairs.sentences2 == ["A dog.", "Two"]
    assert pairs.scores.tolist() == [2.5, 0.0]
    assert (pairs.label, pairs.metric) == ("a", "Spearman")


def test_parquet_and_a_colon_in_a_name(tmp_path: Path) -> None:
    table = pa.table({"score": [1, 2], "sentence2": ["b", "d"], "sentence1": ["a", "c"]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert read_scored_pairs(tmp_path / "a.parquet").sentences1 == ["a", "c"]
    assert read_scored_pairs(write(tmp_path / "a:b.csv", PAIRS)).name == "a:b"


def test_the_columns_and_lines_left_out_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read_labeled_texts(write(tmp_path / "a.csv", "x,Text,label\n1,a,3\n1,2\n4,b,6\n"))
    said = capsys.readouterr().err
    assert "the first line is the header; label is column 3 'label', text is column 2" in said
    assert "1 lines have too many or too few cells and were left out" in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b,1\nc,d,high\n", "line 2: the score 'high'"),
        ("a,b,1\nc,d,nan\n", "line 2: the score 'nan'"),
        ("a,b,1\nc,,2\n", "line 2: expected a text"),
        ("text_a,text_b,like\na,b,1\nc,d,2\n", "sentence1, .*a.csv:COLUMN,COLUMN,COLUMN"),
        ("a,b,1\n", "at least two pairs"),
        ("a,b,1\nc,d,1\n", "different scores"),
        ("", "at least two pairs"),
    ],
)
def test_broken_scored_pairs(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        read_scored_pairs(write(tmp_path / "a.csv", text))


def test_files_and_columns_that_are_not_there(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", PAIRS)
    for columns in ("3", "1,2,3,4", "1,,2"):
        with pytest.raises(UserError, match="specify 3 columns after the file: .*a.csv:sentence1,"):
            read_scored_pairs(Path(f"{path}:{columns}"))
    with pytest.raises(UserError, match="is not a file"):
        read_scored_pairs(tmp_path / "no.csv")
    with pytest.raises(UserError, match="cannot read"):
        read_lines(tmp_path / "no")


def test_western_text_is_read_where_it_is_known_and_never_guessed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("“café”\n".encode("cp1252"))
    assert read_lines(path, western=True) == ["“café”"]
    with pytest.raises(UserError, match=r"not UTF-8: byte 0x93 .*line 1"):
        read_lines(path)
    path.write_text("“café”\n", "utf-8")
    assert read_lines(path, western=True) == ["“café”"]


def test_labels_are_words_or_numbers_without_gaps(tmp_path: Path) -> None:
    texts = read_labeled_texts(write(tmp_path / "a.tsv", "7\tx\n3\ty\n7\tz\n"))
    assert (texts.labels.tolist(), texts.classes) == ([1, 0, 1], 2)
    rows = '{"label": 4, "text": "x"}\n{"label": "b", "text": "y"}\n'
    assert read_labeled_texts(write(tmp_path / "a.jsonl", rows)).labels.tolist() == [0, 1]
    with pytest.raises(UserError, match="two classes"):
        read_labeled_texts(write(tmp_path / "a.tsv", "7\tx\n7\ty\n"))


def test_an_unrecognized_header_is_no_class(tmp_path: Path) -> None:
    rows = "pos,It was good\nneg,It was bad\n" * 2
    known = read_labeled_texts(write(tmp_path / "a.csv", "category,sentence\n" + rows))
    assert (known.classes, len(known.texts)) == (2, 4)
    unknown = write(tmp_path / "a.csv", "mood,remark\n" + rows)
    with pytest.raises(UserError, match="'mood', 'remark', a header or a row"):
        read_labeled_texts(unknown)
    assert read_labeled_texts(Path(f"{unknown}:mood,remark")).classes == 2


def test_texts_taken_for_labels(tmp_path: Path) -> None:
    rows = "".join(f"This is text number {number}\t{number % 2}\n" for number in range(20))
    path = write(tmp_path / "a.tsv", rows)
    with pytest.raises(UserError, match=r"20 labels for 20 texts.*a.tsv:COLUMN,COLUMN"):
        read_labeled_texts(path)
    assert read_labeled_texts(Path(f"{path}:2,1")).classes == 2


@pytest.mark.parametrize(
    ("file", "rows", "classes"),
    [
        ("short-text/stackoverflow_true_text", 19999, 20),  # one title has a tab in it
        ("dbpedia14/test.csv:1,3", 10000, 14),
    ],
)
def test_real_tables(shared_data: Path, file: str, rows: int, classes: int) -> None:
    found = read_labeled_texts(shared_data / file)
    assert (len(found.texts), found.classes) == (rows, classes)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("a.csv", "query,relevant\nq1,a\nq2,b\nq1,c\nq2,a\n"),
        (
            "a.jsonl",
            '{"query": "q1", "relevant": "a"}\n{"query": "q2", "relevant": ["b", "a"]}\n'
            '{"query": "q1", "relevant": ["c"]}\n',
        ),
    ],
)
def test_queries_gather_their_texts(tmp_path: Path, name: str, rows: str) -> None:
    found = read_queries(write(tmp_path / name, rows))
    assert (found.queries, found.texts) == (["q1", "q2"], ["a", "b", "c"])
    assert found.relevant == [{0, 2}, {0, 1}]
    with pytest.raises(UserError, match="at least two texts"):
        read_queries(write(tmp_path / "a.csv", "What is q?,a\n"))
