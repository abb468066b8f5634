from __future__ import annotations

from pathlib import Path

import pytest

from clusterns.errors import UserError
from clusterns.evaluation.custom import read_labelled_texts, read_queries, read_scored_pairs


def write(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "sentence1,sentence2,score\nA cat.,A dog.,2.5\nOne,Two,0\n"),
        ("a.csv", "A cat.,A dog.,2.5\nOne,Two,0\n"),
        ("a.tsv", "score\tsentence2\tsentence1\n2.5\tA dog.\tA cat.\n0\tTwo\tOne\n"),
        (
            "a.jsonl",
            '{"sentence1": "A cat.", "sentence2": "A dog.", "score": 2.5}\n'
            '{"sentence1": "One", "sentence2": "Two", "score": 0}\n',
        ),
    ],
)
def test_scored_pairs(tmp_path: Path, name: str, text: str) -> None:
    pairs = read_scored_pairs(write(tmp_path, name, text))
    assert pairs.sentences1 == ["A cat.", "One"]
    assert pairs.sentences2 == ["A dog.", "Two"]
    assert pairs.scores.tolist() == [2.5, 0.0]
    assert pairs.name == "a"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b,1\nc,d,high\n", "line 2: the score 'high'"),
        ("a,b,1\nc,d,nan\n", "line 2: the score 'nan'"),
        ("a,b,1\nc,,2\n", "line 2: expected a text"),
        (
            "text_a,text_b,similarity\na,b,1\nc,d,2\n",
            "say which columns hold sentence1, .*a.csv:COLUMN,COLUMN,COLUMN",
        ),
        ("a,b,1\n", "at least two pairs"),
        ("a,b,1\nc,d,1\n", "different scores"),
        ("", "at least two pairs"),
    ],
)
def test_broken_scored_pairs(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        read_scored_pairs(write(tmp_path, "a.csv", text))


def test_labels_are_numbered_without_gaps(tmp_path: Path) -> None:
    texts = read_labelled_texts(write(tmp_path, "a.tsv", "7\tx\n3\ty\n7\tz\n"))
    assert texts.labels.tolist() == [1, 0, 1]
    assert texts.classes == 2


def test_an_unrecognised_header_is_no_class(tmp_path: Path) -> None:
    rows = "pos,It was good\nneg,It was bad\n" * 2
    known = read_labelled_texts(write(tmp_path, "a.csv", "category,sentence\n" + rows))
    assert (known.classes, len(known.texts)) == (2, 4)
    unknown = write(tmp_path, "a.csv", "mood,remark\n" + rows)
    with pytest.raises(UserError, match="'mood', 'remark', a header or a row"):
        read_labelled_texts(unknown)
    assert read_labelled_texts(Path(f"{unknown}:mood,remark")).classes == 2
    assert read_labelled_texts(write(tmp_path, "a.csv", rows)).classes == 2


def test_windows_quotes_are_not_misread(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("label,text\n1,“Yes”\n2,No\n".encode("cp1252"))
    with pytest.raises(UserError, match=r"not UTF-8: byte 0x93 .*\(line 2\)"):
        read_labelled_texts(path)


def test_texts_taken_for_labels(tmp_path: Path) -> None:
    rows = "".join(f"This is text number {number}\t{number % 2}\n" for number in range(20))
    path = write(tmp_path, "a.tsv", rows)
    with pytest.raises(UserError, match=r"20 labels for 20 texts.*a.tsv:COLUMN,COLUMN"):
        read_labelled_texts(path)
    assert read_labelled_texts(Path(f"{path}:2,1")).classes == 2


@pytest.mark.parametrize(
    ("file", "rows", "classes"),
    [
        ("short-text/agnewsdataraw-8000", 8000, 4),
        ("short-text/stackoverflow_true_text", 19999, 20),  # one title has a tab in it
        ("short-text/tweet-original-order.txt", 2472, 89),
        ("dbpedia14/test.csv:1,3", 10000, 14),
    ],
)
def test_real_tables(shared_data: Path, file: str, rows: int, classes: int) -> None:
    found = read_labelled_texts(shared_data / file)
    assert (len(found.texts), found.classes) == (rows, classes)


def test_labelled_jsonl_takes_numbers(tmp_path: Path) -> None:
    text = '{"label": 4, "text": "x"}\n{"label": "b", "text": "y"}\n'
    assert read_labelled_texts(write(tmp_path, "a.jsonl", text)).labels.tolist() == [0, 1]


def test_one_class_is_no_clustering(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="two classes"):
        read_labelled_texts(write(tmp_path, "a.tsv", "7\tx\n7\ty\n"))


def test_queries_gather_their_texts(tmp_path: Path) -> None:
    rows = "query,relevant\nq1,a\nq2,b\nq1,c\nq2,a\n"
    found = read_queries(write(tmp_path, "a.csv", rows))
    assert found.queries == ["q1", "q2"]
    assert found.texts == ["a", "b", "c"]
    assert found.relevant == [{0, 2}, {0, 1}]


def test_queries_as_json_lists(tmp_path: Path) -> None:
    rows = '{"query": "q", "relevant": ["a", "b"]}\n{"query": "r", "relevant": "c"}\n'
    assert read_queries(write(tmp_path, "a.jsonl", rows)).relevant == [{0, 1}, {2}]


def test_nothing_to_search(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="two texts or more"):
        read_queries(write(tmp_path, "a.csv", "What is q?,a\n"))
