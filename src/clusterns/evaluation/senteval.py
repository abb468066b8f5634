"""Readers of the benchmark files, with the traps of the real ones.

Words are joined by single blanks and outer blanks go, as in SentEval, which splits every sentence
at white space. A row that does not fit is an error that names file and line.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from clusterns.data.columns import Column
from clusterns.data.delimited import Delimited
from clusterns.errors import UserError
from clusterns.evaluation.custom import number_labels, read_lines
from clusterns.evaluation.datasets import LabelledTexts, ScoredPairs, TransferTask


def read_sts_year(folder: Path, name: str, subsets: tuple[str, ...]) -> ScoredPairs:
    """Read one year of STS: the subsets' pairs one after the other, unscored pairs left out."""
    first: list[str] = []
    second: list[str] = []
    scores: list[float] = []
    rows: dict[str, slice] = {}
    for subset in subsets:
        pairs_file, gold_file = folder / f"STS.input.{subset}.txt", folder / f"STS.gs.{subset}.txt"
        pairs, gold = read_lines(pairs_file), read_lines(gold_file)
        if len(pairs) != len(gold):
            raise UserError(
                f"{pairs_file} has {len(pairs)} lines and {gold_file} {len(gold)}: "
                "one of them is truncated or they do not belong together."
            )
        start = len(scores)
        for number, (pair, score) in enumerate(zip(pairs, gold, strict=True), start=1):
            cells = _cells(pairs_file, number, pair, 2)
            if not score.strip():
                continue  # never scored by a person
            first.append(cells[0])
            second.append(cells[1])
            scores.append(_score(gold_file, number, score, 0, 5))
        rows[subset] = slice(start, len(scores))
    return ScoredPairs(first, second, np.array(scores), name, str(folder), rows)


def read_stsb(path: Path, name: str = "STS-B") -> ScoredPairs:
    """Read a split of STS-B: genre, file, year, id, score, two sentences, maybe more columns."""
    rows = [_cells(path, n, line, 7) for n, line in enumerate(read_lines(path), start=1)]
    scores = [_score(path, number, row[4], 0, 5) for number, row in enumerate(rows, start=1)]
    return ScoredPairs(
        [row[5] for row in rows], [row[6] for row in rows], np.array(scores), name, str(path)
    )


def read_sick(path: Path, name: str = "SICK-R") -> ScoredPairs:
    """Read a split of SICK: id, two sentences, relatedness from 1 to 5, entailment."""
    lines = list(enumerate(read_lines(path), start=1))[1:]
    rows = [_cells(path, number, line, 5) for number, line in lines]
    scores = [_score(path, n, row[3], 1, 5) for (n, _), row in zip(lines, rows, strict=True)]
    return ScoredPairs(
        [row[1] for row in rows], [row[2] for row in rows], np.array(scores), name, str(path)
    )


def read_two_classes(name: str, ones: Path, zeros: Path) -> TransferTask:
    """Read MR, CR, SUBJ or MPQA: a file for each class, one sentence a line.

    CR has blank lines, which count; SentEval hands a full stop to the model in their place.
    """
    texts, labels = [], []
    for path, label in ((ones, 1), (zeros, 0)):
        for line in read_lines(path, western=True):
            texts.append(" ".join(line.split()) or ".")
            labels.append(label)
    return TransferTask(name, _labelled(texts, labels, name, ones.parent))


def read_sst2(folder: Path) -> TransferTask:
    """Read binary SST: sentence, tab, 0 or 1."""

    def split(part: str) -> LabelledTexts:
        path = folder / f"sentiment-{part}"
        rows = [_cells(path, n, line, 2) for n, line in enumerate(read_lines(path), start=1)]
        labels = [_class(path, n, row[1], "01") for n, row in enumerate(rows, start=1)]
        return _labelled([row[0] for row in rows], labels, "SST-2", path)

    return TransferTask("SST-2", split("train"), split("test"), split("dev"))


def read_trec(folder: Path) -> TransferTask:
    """Read TREC: coarse class, colon, fine class, blank, question; six coarse classes."""
    coarse = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")

    def split(file: str) -> LabelledTexts:
        path, texts, labels = folder / file, [], []
        for number, line in enumerate(read_lines(path, western=True), start=1):
            label, _, rest = line.partition(":")
            words = rest.split()
            if label not in coarse or len(words) < 2:
                raise UserError(
                    f"{path}, line {number}: expected a class such as NUM:dist and a question, "
                    f"found {line[:60]!r}."
                )
            texts.append(" ".join(words[1:]))
            labels.append(coarse.index(label))
        return _labelled(texts, labels, "TREC", path)

    return TransferTask("TREC", split("train_5500.label"), split("TREC_10.label"))


def read_mrpc(folder: Path) -> TransferTask:
    """Read MRPC: header, then 0 or 1, two ids, two sentences."""

    def split(part: str) -> LabelledTexts:
        path = folder / f"msr_paraphrase_{part}.txt"
        lines = list(enumerate(read_lines(path), start=1))[1:]
        rows = [_cells(path, number, line, 5) for number, line in lines]
        labels = [_class(path, n, row[0], "01") for (n, _), row in zip(lines, rows, strict=True)]
        return LabelledTexts(
            [row[3] for row in rows],
            np.array(labels, dtype=np.int64),
            [row[4] for row in rows],
            "MRPC",
            str(path),
        )

    return TransferTask("MRPC", split("train"), split("test"))


def read_short_text(path: Path, name: str) -> LabelledTexts:
    """Read a short-text set: label, tab, text, maybe one more tab; label ids may have gaps."""
    rows = [_cells(path, n, line, 2) for n, line in enumerate(read_lines(path), start=1)]
    texts = [row[1] for row in rows]
    return LabelledTexts(texts, number_labels([r[0] for r in rows]), None, name, str(path))


def read_dbpedia(path: Path) -> LabelledTexts:
    """Read DBpedia's csv: label from 1 to 14, title, content; the content is what is clustered."""
    texts, labels = [], []
    numbers = [str(number) for number in range(1, 15)]
    with path.open("rb") as raw:
        rows = Delimited(path, raw, [Column("label", "1"), Column("content", "3")])
        for line, row in rows:
            if row is None or not row[1].strip():
                raise UserError(f"{path}, line {line}: expected label,title,content.")
            labels.append(_class(path, line, row[0], numbers))
            texts.append(" ".join(row[1].split()))
    return _labelled(texts, labels, "DBpedia", path)


SHORT_TEXT_FILES = {
    "AG": "agnewsdataraw-8000",
    "Bio": "biomedical_true_text",
    "Go-S": "S",
    "G-T": "T",
    "G-TS": "TS",
    "SS": "search_snippets_true_text",
    "SO": "stackoverflow_true_text",
    "Tweet": "tweet-original-order.txt",
}

STS_SUBSETS = {
    "STS12": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    "STS13": ("FNWN", "headlines", "OnWN"),
    "STS14": ("deft-forum", "deft-news", "headlines", "OnWN", "images", "tweet-news"),
    "STS15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "STS16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}


def _cells(path: Path, number: int, line: str, needed: int) -> list[str]:
    """Split a line at its tabs into at least ``needed`` cells that hold something."""
    cells = [" ".join(cell.split()) for cell in line.split("\t")]
    if len(cells) < needed or not all(cells[:needed]):
        raise UserError(
            f"{path}, line {number}: expected {needed} columns with text, found {line[:60]!r}."
        )
    return cells


def _score(path: Path, number: int, cell: str, low: float, high: float) -> float:
    try:
        score = float(cell)
    except ValueError:
        raise UserError(f"{path}, line {number}: the score {cell!r} is not a number.") from None
    if not low <= score <= high:
        raise UserError(f"{path}, line {number}: the score {score} is not in [{low}, {high}].")
    return score


def _class(path: Path, number: int, cell: str, names: str | list[str]) -> int:
    if cell not in names:
        raise UserError(f"{path}, line {number}: the label {cell!r} is none of {list(names)}.")
    return names.index(cell)


def _labelled(texts: list[str], labels: list[int], name: str, source: Path) -> LabelledTexts:
    return LabelledTexts(texts, np.array(labels, dtype=np.int64), None, name, str(source))
