"""Each reader on small files with the real files' traps; the real files are in test_data."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterns.errors import UserError
from clusterns.evaluation.catalog import CATALOG
from clusterns.evaluation.datasets import LabeledTexts, ScoredPairs, TransferTask
from clusterns.evaluation.senteval import (
    Layout,
    read_classes,
    read_pairs,
    read_sts_year,
    read_task,
    read_texts,
    read_trec,
)


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def sts_year(folder: Path, pairs: str, gold: str) -> ScoredPairs:
    write(folder / "STS.input.one.txt", pairs)
    write(folder / "STS.gs.one.txt", gold)
    write(folder / "STS.input.two.txt", "g\th\ni\tj\n")
    write(folder / "STS.gs.two.txt", "3\n4\n")
    files = [
        folder / f"STS.{kind}.{subset}.txt" for subset in ("one", "two") for kind in ("input", "gs")
    ]
    return read_sts_year("STS99", files, Layout(subsets=("one", "two")))


def test_blank_gold_lines_are_unscored_pairs(tmp_path: Path) -> None:
    pairs = sts_year(tmp_path, "a\tb\nc\td\ne\tf\n", "1.5\n\n2\n")
    assert pairs.sentences1 == ["a", "e", "g", "i"]
    assert pairs.scores.tolist() == [1.5, 2, 3, 4]
    assert pairs.subsets == {"one": slice(0, 2), "two": slice(2, 4)}


@pytest.mark.parametrize(
    ("pairs", "gold", "says"),
    [
        ("a\tb\nc\td\n", "1\n", "has 2 lines and .* 1: .*truncated"),
        ("a\tb\n", "1\n2\n", "has 1 lines and .* 2"),
        ("a\tb\nc\n", "1\n2\n", "STS.input.one.txt, line 2"),
        ("a\tb\n", "5.5\n", r"STS.gs.one.txt, line 1: the score 5.5 is not in \[0, 5\]"),
        ("a\tb\n", "nan\n", "line 1: the score nan"),
        ("a\tb\n", "x\n", "line 1: the score 'x' is not a number"),
    ],
)
def test_broken_sts_years(tmp_path: Path, pairs: str, gold: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        sts_year(tmp_path, pairs, gold)


def test_stsb_has_bare_quotes_and_extra_columns(tmp_path: Path) -> None:
    rows = 'g\tf\t2012\t1\t2.5\tsay "a\tb\ng\tf\t2012\t2\t5\tc"\td\tlicence\turl\n'
    pairs = read_pairs("STS-B", [write(tmp_path / "sts-dev.csv", rows)], CATALOG.sets["STS-B"])
    assert pairs.sentences1 == ['say "a', 'c"']
    assert pairs.sentences2 == ["b", "d"]
    assert pairs.scores.tolist() == [2.5, 5]


@pytest.mark.parametrize("row", ["g\tf\t2012\t1\t2.5\tonly", "g\tf\t2012\t1\t6\ta\tb"])
def test_broken_stsb(tmp_path: Path, row: str) -> None:
    path = write(tmp_path / "sts.csv", f"g\tf\ty\t0\t1\ta\tb\n{row}\n")
    with pytest.raises(UserError, match="sts.csv, line 2"):
        read_pairs("STS-B", [path], CATALOG.sets["STS-B"])


SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\r\n"


def test_sick_with_crlf(tmp_path: Path) -> None:
    rows = SICK + "1\ta b\tc\t4.5\tNEUTRAL\r\n2\td\te\t1\tENTAILMENT\r\n"
    pairs = read_pairs("SICK-R", [write(tmp_path / "SICK.txt", rows)], CATALOG.sets["SICK-R"])
    assert pairs.sentences1 == ["a b", "d"]
    assert pairs.scores.tolist() == [4.5, 1]


def test_sick_starts_at_one(tmp_path: Path) -> None:
    path = write(tmp_path / "SICK.txt", SICK + "1\ta\tb\t0.5\tNEUTRAL\r\n")
    with pytest.raises(UserError, match=r"SICK.txt, line 2: the score 0.5 is not in \[1, 5\]"):
        read_pairs("SICK-R", [path], CATALOG.sets["SICK-R"])


def test_two_classes_keep_blank_lines(tmp_path: Path) -> None:
    ones = write(tmp_path / "mpqa.pos", "good \n\nvery  good\n")
    zeros = write(tmp_path / "mpqa.neg", "bad\n".encode("latin-1") + b"caf\xe9 \n")
    task = read_classes("MPQA", [ones, zeros], Layout())
    assert task.train.texts == ["good", ".", "very good", "bad", "café"]
    assert task.train.labels.tolist() == [1, 1, 1, 0, 0]
    assert task.test is None


def task(folder: Path, name: str, content: str | bytes) -> TransferTask:
    """A task of which every file has the same content."""
    files = [write(folder / each, content) for each in CATALOG.sets[name].files]
    read = read_trec if name == "TREC" else read_task
    return read(name, files, CATALOG.sets[name])


def test_sst2(tmp_path: Path) -> None:
    found = task(tmp_path, "SST-2", "fine film \t1\nbad \t0\n")
    assert [len(part.texts) for part in found.parts] == [2, 2, 2]
    assert found.dev is not None
    assert found.dev.texts == ["fine film", "bad"]
    assert found.dev.source.endswith("sentiment-dev")
    assert found.train.labels.tolist() == [1, 0]


def test_trec_is_latin_1(tmp_path: Path) -> None:
    found = task(tmp_path, "TREC", b"NUM:dist How far ?\nHUM:ind Who is Andr\xe9 ?\n")
    assert found.train.texts == ["How far ?", "Who is Andr\u00e9 ?"]
    assert found.train.labels.tolist() == [5, 3]


def test_mrpc_has_a_byte_order_mark(tmp_path: Path) -> None:
    rows = '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t2\t3\ta "b\tc\n0\t5\t6\td\te\n'
    found = task(tmp_path, "MRPC", rows)
    assert found.train.texts == ['a "b', "d"]
    assert found.train.partners == ["c", "e"]
    assert found.train.labels.tolist() == [1, 0]


def texts(path: Path, name: str, content: str) -> LabeledTexts:
    return read_texts(name, [write(path, content)], CATALOG.sets[name])


def test_short_text_with_trailing_tabs_and_gaps(tmp_path: Path) -> None:
    found = texts(tmp_path / "SO", "SO", "18\thow to\t\r\n2\twhat\t\r\n18\twhy")
    assert found.texts == ["how to", "what", "why"]
    assert found.labels.tolist() == [0, 1, 0]


def test_dbpedia_is_quoted_csv(tmp_path: Path) -> None:
    rows = '3,"A, B"," He said ""no""."\n14,,Text\n'
    found = texts(tmp_path / "test.csv", "DBpedia", rows)
    assert found.texts == ['He said "no".', "Text"]
    assert found.labels.tolist() == [2, 13]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("AG", "1\ta\n2\n", "line 2: expected 2 columns"),
        ("DBpedia", "1,a,b\n" * 3 + "2,a\n", "line 4: expected text in column 1 and column 3"),
        ("DBpedia", "1,a,b\n15,a,b\n", "line 2: the label '15' is none of"),
        ("DBpedia", '1,a,b\n2,a,"b\n', "line 2 is broken csv"),
    ],
)
def test_broken_texts(tmp_path: Path, name: str, content: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        texts(tmp_path / "file.csv", name, content)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("SST-2", "fine\t1\nbad\t2\n", "sentiment-train, line 2: the label '2'"),
        ("TREC", "NUM:dist How far ?\nwhat\n", "train_5500.label, line 2"),
        ("MRPC", "header\n1\t2\t3\ta\n", "msr_paraphrase_train.txt, line 2"),
    ],
)
def test_broken_tasks_name_the_line(tmp_path: Path, name: str, content: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        task(tmp_path, name, content)
