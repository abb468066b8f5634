"""Evaluation files: lines and tables, read by the rules of a corpus."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clusterns.console import say
from clusterns.corpus.columns import Column
from clusterns.corpus.lines import text_lines
from clusterns.corpus.tables import open_table
from clusterns.errors import UserError


def read_lines(path: Path, *, western: bool = False) -> list[str]:
    """Read the lines of a file in UTF-8, or UTF-16 with a byte-order mark.

    Args:
        path: the file.
        western: whether it is known to come in Western European (cp1252) as well; no other file is
            guessed to be.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}.") from error
    if western:
        content = _from_western(content)
    return list(text_lines(path, io.BytesIO(content)))


def named_columns(file: Path, columns: Sequence[Column]) -> tuple[Path, list[Column]]:
    """Take ``FILE:COLUMN,COLUMN`` apart; a file of that very name comes first."""
    name, colon, given = str(file).rpartition(":")
    asked: Sequence[str | None] = [None] * len(columns)
    if colon and not file.is_file() and Path(name).is_file():
        file, asked = Path(name), given.split(",")
        if len(asked) != len(columns) or not all(asked):
            roles = ",".join(column.role for column in columns)
            raise UserError(f"{file}: name {len(columns)} columns after the file: {file}:{roles}.")
    option = f"{file.name}:{','.join(['COLUMN'] * len(columns))}"
    return file, [
        replace(column, asked=place, option=option)
        for column, place in zip(columns, asked, strict=True)
    ]


def read_table(path: Path, columns: Sequence[Column]) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield (line number, the values of ``columns``) of a csv, tsv, text, jsonl or parquet file.

    Which columns were taken is said, and so is how many lines were left out because they do not fit.
    """
    if not path.is_file():
        raise UserError(f"{path} is not a file.")
    try:
        with path.open("rb") as raw:
            table = open_table(path, raw, columns, doubtful=False)
            say(f"{path}: {table.told}.")
            for number, values in table:
                if values is not None:
                    yield number, values
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}.") from error
    if table.ragged:
        say(f"{path}: {table.ragged:,} lines have too many or too few cells and were left out.")


def _from_western(content: bytes) -> bytes:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace").encode()
    return content
