"""The user's own evaluation sets: scored pairs, labeled texts, queries with relevant texts.

A set is a file, or ``FILE:COLUMN,COLUMN`` with the names (or numbers, from 1) of its columns, in the
order that the reader documents.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from clusterns.console import log
from clusterns.data.columns import Column
from clusterns.data.kinds import is_light
from clusterns.data.lines import text_lines
from clusterns.data.sources import readable
from clusterns.data.tables import open_table
from clusterns.errors import UserError
from clusterns.evaluation.datasets import LabeledTexts, Retrieval, ScoredPairs

PAIRS = (
    Column("sentence1", aliases=("sentence1",)),
    Column("sentence2", aliases=("sentence2",)),
    Column("score", aliases=("score",)),
)
LABELED = (
    Column("label", aliases=("label", "class", "category")),
    Column("text", aliases=("text", "sentence"), infer=True),
)
QUERIES = (Column("query", aliases=("query",)), Column("relevant", aliases=("relevant",)))

MIN_TEXTS_TO_CHECK = 20  # with as many texts, more labels than half the texts are a mistake


def check_scored_pairs(file: Path) -> None:
    """Read the beginning of a file, and refuse it if it lacks the columns of scored pairs."""
    path, columns = named_columns(file, PAIRS)
    if is_light(path):
        with readable(path), path.open("rb") as raw:
            open_table(path, raw, columns, assume_header=False)


def read_scored_pairs(file: Path) -> ScoredPairs:
    """Read pairs with a similarity each: columns sentence1, sentence2, score."""
    path, columns = named_columns(file, PAIRS)
    first, second, scores = [], [], []
    for line, row in read_table(path, columns):
        first.append(_text(path, line, row[0]))
        second.append(_text(path, line, row[1]))
        scores.append(_score(path, line, row[2]))
    return ScoredPairs(first, second, np.array(scores), name=path.stem, source=str(path))


def read_labeled_texts(file: Path) -> LabeledTexts:
    """Read texts with a class each: columns label, text; a label is any word or number."""
    path, columns = named_columns(file, LABELED)
    labels, texts = [], []
    for line, (label, text) in read_table(path, columns):
        labels.append(_text(path, line, str(label)))
        texts.append(_text(path, line, text))
    if len(texts) >= MIN_TEXTS_TO_CHECK and len({*labels}) > len(texts) / 2:
        raise UserError(
            f"{path}: {len({*labels}):,} labels for {len(texts):,} texts, such as {labels[0][:40]!r}: "
            f"specify the columns of label and text ({path.name}:COLUMN,COLUMN)."
        )
    return LabeledTexts(texts, number_labels(labels), name=path.stem, source=str(path))


def read_queries(file: Path) -> Retrieval:
    """Read queries with relevant texts: columns query, relevant.

    A query with several relevant texts has several rows, or a list of texts in jsonl. All texts of
    the file are searched.
    """
    path, columns = named_columns(file, QUERIES)
    queries: dict[str, set[int]] = {}
    texts: dict[str, int] = {}
    for line, (query, relevant) in read_table(path, columns):
        found = queries.setdefault(_text(path, line, query), set())
        for text in relevant if isinstance(relevant, list) else [relevant]:
            found.add(texts.setdefault(_text(path, line, text), len(texts)))
    if not queries or len(texts) < 2:
        raise UserError(f"{path}: needs queries, and at least two texts to search.")
    relevant_sets = [frozenset(found) for found in queries.values()]
    return Retrieval([*queries], [*texts], relevant_sets, name=path.stem, source=str(path))


def number_labels(labels: list[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Number classes from 0 in sorted order, since label ids may have gaps or be words."""
    return np.unique(np.array(labels), return_inverse=True)[1].astype(np.int64)


def _text(path: Path, line: int, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{path}, line {line}: expected a text, found {value!r}.")
    return value.strip()


def _score(path: Path, line: int, value: Any) -> float:
    try:
        score = float(value)
    except (TypeError, ValueError):
        score = math.nan
    if not math.isfinite(score):
        raise UserError(
            f"{path}, line {line}: the score {value!r} is not a number: specify the columns of "
            f"sentence1, sentence2 and score ({path.name}:COLUMN,COLUMN,COLUMN)."
        )
    return score


def read_lines(path: Path, *, western: bool = False) -> list[str]:
    """Read the lines of a file in UTF-8, or UTF-16 with a byte-order mark.

    Args:
        path: the file.
        western: whether the file may be in Western European (cp1252) instead; this is never guessed.
    """
    with readable(path):
        content = path.read_bytes()
    if western:
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            content = content.decode("cp1252", "replace").encode()
    return list(text_lines(path, io.BytesIO(content)))


def split_columns(file: Path) -> tuple[Path, str]:
    """Split ``FILE:COLUMN,COLUMN``; a file with exactly that name takes precedence."""
    name, colon, columns = str(file).rpartition(":")
    if colon and not file.is_file() and Path(name).is_file():
        return Path(name), columns
    return file, ""


def named_columns(file: Path, columns: Sequence[Column]) -> tuple[Path, list[Column]]:
    """The file of ``FILE`` or ``FILE:COLUMN,COLUMN``, and the columns to read."""
    path, given = split_columns(file)
    if path == file:
        asked: Sequence[str | None] = [None] * len(columns)
    else:
        asked = given.split(",")
    if len(asked) != len(columns) or "" in asked:
        roles = ",".join(column.role for column in columns)
        raise UserError(f"{file}: specify {len(columns)} columns after the file: {path}:{roles}.")
    option = f"{path.name}:{','.join(['COLUMN'] * len(columns))}"
    return path, [
        replace(column, given=place, option=option)
        for column, place in zip(columns, asked, strict=True)
    ]


def read_table(path: Path, columns: Sequence[Column]) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield (line number, the values of ``columns``) of a csv, tsv, text, jsonl or parquet file.

    Log the chosen columns, and the number of lines that were skipped because they are malformed.
    """
    if not path.is_file():
        raise UserError(f"{path} is not a file.")
    with readable(path), path.open("rb") as raw:
        table = open_table(path, raw, columns, assume_header=False)
        log(f"{path}: {table.description}.")
        for number, values in table:
            if values is not None:
                yield number, values
    if table.ragged:
        log(f"{path}: {table.ragged:,} lines have too many or too few cells and were left out.")
