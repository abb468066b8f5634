"""Each reader on small files with the real files' traps; the real files are in test_catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clusterns.errors import UserError
from clusterns.evaluation.catalog import CATALOG, FORMATS
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.senteval import Layout, read_sts_year
from tests.helpers.texts import write


def read(folder: Path, name: str, content: str | bytes) -> Any:
    """A set of the catalog of which every file has the same content."""
    entry = CATALOG.sets[name]
    files = [write(folder / file, content) for file in entry.paths]
    return FORMATS[entry.format][0](name, files, entry)


def sts_year(folder: Path, pairs: str, gold: str) -> ScoredPairs:
    texts = {"input.one": pairs, "gs.one": gold, "input.two": "g\th\ni\tj\n", "gs.two": "3\n4\n"}
    files = [write(folder / f"STS.{name}.txt", text) for name, text in texts.items()]
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


SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\r\n"
MRPC = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"


@pytest.mark.parametrize(
    ("name", "content", "first", "second", "scores"),
    [
        # Bare quotation marks and more columns.
        ("STS-B", 'g\tf\t2012\t1\t2.5\tsay "a\tb\ng\tf\t2012\t2\t5\tc"\td\tlicence\turl\n',
         ['say "a', 'c"'], ["b", "d"], [2.5, 5]),
        ("SICK-R", SICK + "1\ta b\tc\t4.5\tNEUTRAL\r\n2\td\te\t1\tENTAILMENT\r\n",
         ["a b", "d"], ["c", "e"], [4.5, 1]),
    ],
)  # fmt: skip
def test_pairs(
    tmp_path: Path,
    name: str,
    content: str,
    first: list[str],
    second: list[str],
    scores: list[float],
) -> None:
    pairs = read(tmp_path, name, content)
    assert (pairs.sentences1, pairs.sentences2, pairs.scores.tolist()) == (first, second, scores)


def test_two_classes_keep_blank_lines(tmp_path: Path) -> None:
    task = read(tmp_path, "MPQA", b"good \n\nvery  caf\xe9 \n")
    assert task.train.texts == ["good", ".", "very café"] * 2
    assert task.train.labels.tolist() == [1, 1, 1, 0, 0, 0]
    assert task.test is None


@pytest.mark.parametrize(
    ("name", "content", "texts", "partners", "labels"),
    [
        ("SST-2", "fine film \t1\nbad \t0\n", ["fine film", "bad"], None, [1, 0]),
        ("TREC", b"NUM:dist How far ?\nHUM:ind Who is Andr\xe9 ?\n",
         ["How far ?", "Who is André ?"], None, [5, 3]),
        ("MRPC", MRPC + '1\t2\t3\ta "b\tc\n0\t5\t6\td\te\n', ['a "b', "d"], ["c", "e"], [1, 0]),
    ],
)  # fmt: skip
def test_tasks(
    tmp_path: Path, name: str, content: str, texts: list[str], partners: Any, labels: list[int]
) -> None:
    found = read(tmp_path, name, content)
    assert len(found.parts) == len(CATALOG.sets[name].files)
    assert found.train.source.endswith(CATALOG.sets[name].files[0])
    for part in found.parts:
        assert (part.texts, part.partners, part.labels.tolist()) == (texts, partners, labels)


@pytest.mark.parametrize(
    ("name", "content", "texts", "labels"),
    [
        # Trailing tabs, and gaps between the labels, which are sorted as words: "18" before "2".
        ("SO", "18\thow to\t\r\n2\twhat\t\r\n18\twhy", ["how to", "what", "why"], [0, 1, 0]),
        ("DBpedia", '3,"A, B"," He said ""no""."\n14,,Text\n', ['He said "no".', "Text"], [2, 13]),
    ],
)
def test_texts(
    tmp_path: Path, name: str, content: str, texts: list[str], labels: list[int]
) -> None:
    found = read(tmp_path, name, content)
    assert (found.texts, found.labels.tolist()) == (texts, labels)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("STS-B", "g\tf\ty\t0\t1\ta\tb\ng\tf\t2012\t1\t2.5\tonly\n", "sts-test.csv, line 2"),
        ("STS-B", "g\tf\ty\t0\t1\ta\tb\ng\tf\t2012\t1\t6\ta\tb\n", "sts-test.csv, line 2"),
        ("SICK-R", SICK + "1\ta\tb\t0.5\tNEUTRAL\r\n", r"line 2: the score 0.5 is not in \[1, 5\]"),
        ("AG", "1\ta\n2\n", "line 2: expected 2 columns"),
        ("DBpedia", "1,a,b\n" * 3 + "2,a\n", "line 4: expected text in column 1 and column 3"),
        ("DBpedia", "1,a,b\n15,a,b\n", "line 2: the label '15' is not one of"),
        ("DBpedia", '1,a,b\n2,a,"b\n', "line 2 is malformed CSV"),
        ("SST-2", "fine\t1\nbad\t2\n", "sentiment-train, line 2: the label '2'"),
        ("TREC", "NUM:dist How far ?\nwhat\n", "train_5500.label, line 2"),
        ("MRPC", "header\n1\t2\t3\ta\n", "msr_paraphrase_train.txt, line 2"),
    ],
)
def test_broken_files_name_the_line(tmp_path: Path, name: str, content: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        read(tmp_path, name, content)
