"""Readers of the original benchmark files, including their quirks.

Whitespace is normalized to single spaces, as in SentEval, which splits every sentence at whitespace.
A malformed row is an error that names file and line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from clusterns.data.columns import Column
from clusterns.data.delimited import Delimited
from clusterns.errors import UserError
from clusterns.evaluation.custom import number_labels, read_lines
from clusterns.evaluation.datasets import LabeledTexts, ScoredPairs, TransferTask
from clusterns.settings import Settings

Files = Sequence[Path]


class Layout(Settings):
    """The layout of the files of a set."""

    columns: tuple[int, ...] = ()
    """Numbered from 1. Pairs: both sentences, score. Texts: label, text (and its partner)."""
    header: bool = False
    """The first line is a header."""
    quoted: bool = False
    """The file is csv with quotation marks rather than tab-separated text."""
    scale: tuple[float, float] = (0, 5)
    """Lowest and highest score."""
    labels: tuple[str, ...] = ()
    """The labels in order. Empty: all that occur, sorted."""
    subsets: tuple[str, ...] = ()
    """Subsets; file names contain ``{subset}`` as a placeholder."""


def read_sts_year(name: str, files: Files, layout: Layout) -> ScoredPairs:
    """Read a year of STS: for each subset a file of pairs and one of scores. Pairs without a score
    are left out."""
    first: list[str] = []
    second: list[str] = []
    scores: list[float] = []
    rows: dict[str, slice] = {}
    for subset, pairs_file, gold_file in zip(layout.subsets, files[::2], files[1::2], strict=True):
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
                continue  # not scored by the annotators
            first.append(cells[0])
            second.append(cells[1])
            scores.append(_score(gold_file, number, score, layout))
        rows[subset] = slice(start, len(scores))
    return ScoredPairs(first, second, np.array(scores), name, str(files[0].parent), rows)


def read_pairs(name: str, files: Files, layout: Layout) -> ScoredPairs:
    """Read scored pairs (STS-B, SICK): one tab-separated line each."""
    (path,) = files
    rows = list(_rows(path, layout))
    first, second = ([cells[side] for _, cells in rows] for side in (0, 1))
    scores = [_score(path, number, cells[2], layout) for number, cells in rows]
    return ScoredPairs(first, second, np.array(scores), name, str(path))


def read_classes(name: str, files: Files, layout: Layout) -> TransferTask:
    """Read a file for each class, the positive one first (MR, CR, SUBJ, MPQA): one sentence per line.

    Blank lines (in CR) count as rows; as in SentEval, they are replaced by a full stop.
    """
    texts, labels = [], []
    for path, label in zip(files, (1, 0), strict=True):
        for line in read_lines(path, western=True):
            texts.append(" ".join(line.split()) or ".")
            labels.append(label)
    source = str(files[0].parent)
    return TransferTask(name, LabeledTexts(texts, np.array(labels), None, name, source))


def read_task(name: str, files: Files, layout: Layout) -> TransferTask:
    """Read a task of several files (SST-2, MRPC): train, perhaps dev, test."""
    return _task(name, [read_texts(name, [path], layout) for path in files])


def read_trec(name: str, files: Files, layout: Layout) -> TransferTask:
    """Read TREC, train and test: coarse class, colon, fine class, space, question."""

    def part(path: Path) -> LabeledTexts:
        texts, labels = [], []
        for number, line in enumerate(read_lines(path, western=True), start=1):
            label, _, rest = line.partition(":")
            words = rest.split()
            if label not in layout.labels or len(words) < 2:
                raise UserError(
                    f"{path}, line {number}: expected a class such as NUM:dist and a question, "
                    f"found {line[:60]!r}."
                )
            texts.append(" ".join(words[1:]))
            labels.append(layout.labels.index(label))
        return LabeledTexts(texts, np.array(labels), None, name, str(path))

    return _task(name, [part(path) for path in files])


def read_texts(name: str, files: Files, layout: Layout) -> LabeledTexts:
    """Read labeled texts: tab-separated lines, or csv."""
    (path,) = files
    rows = list(_rows(path, layout))
    found = [cells[0] for _, cells in rows]
    labels = number_labels(found)
    if layout.labels:
        for (number, _), label in zip(rows, found, strict=True):
            if label not in layout.labels:
                known = list(layout.labels)
                raise UserError(
                    f"{path}, line {number}: the label {label!r} is not one of {known}."
                )
        labels = np.array([layout.labels.index(label) for label in found], dtype=np.int64)
    texts, *partners = ([cells[i] for _, cells in rows] for i in range(1, len(layout.columns)))
    return LabeledTexts(texts, labels, partners[0] if partners else None, name, str(path))


def _task(name: str, parts: Sequence[LabeledTexts]) -> TransferTask:
    train, *dev, test = parts
    return TransferTask(name, train, test, dev[0] if dev else None)


def _rows(path: Path, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """The line numbers of a table, and the cells of the columns to read."""
    if layout.quoted:
        columns = [Column(f"column {number}", str(number)) for number in layout.columns]
        with path.open("rb") as raw:
            for number, values in Delimited(path, raw, columns):
                if values is None or not all(value.strip() for value in values):
                    names = " and ".join(column.role for column in columns)
                    raise UserError(f"{path}, line {number}: expected text in {names}.")
                yield number, [" ".join(value.split()) for value in values]
        return
    for number, line in enumerate(read_lines(path), start=1):
        if number > 1 or not layout.header:
            cells = _cells(path, number, line, max(layout.columns))
            yield number, [cells[place - 1] for place in layout.columns]


def _cells(path: Path, number: int, line: str, needed: int) -> list[str]:
    """Split a line at its tabs into at least ``needed`` non-empty cells."""
    cells = [" ".join(cell.split()) for cell in line.split("\t")]
    if len(cells) < needed or not all(cells[:needed]):
        raise UserError(
            f"{path}, line {number}: expected {needed} columns with text, found {line[:60]!r}."
        )
    return cells


def _score(path: Path, number: int, cell: str, layout: Layout) -> float:
    low, high = layout.scale
    try:
        score = float(cell)
    except ValueError:
        raise UserError(f"{path}, line {number}: the score {cell!r} is not a number.") from None
    if not low <= score <= high:
        raise UserError(f"{path}, line {number}: the score {score} is not in [{low:g}, {high:g}].")
    return score
