"""Evaluation files: lines and tables, read by the rules of a corpus."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clusterns.console import log
from clusterns.data.columns import Column
from clusterns.data.kinds import is_light
from clusterns.data.lines import text_lines
from clusterns.data.sources import readable
from clusterns.data.tables import open_table
from clusterns.errors import UserError


def read_lines(path: Path, *, western: bool = False) -> list[str]:
    """Read the lines of a file in UTF-8, or UTF-16 with a byte-order mark.

    Args:
        path: the file.
        western: whether it is known to come in Western European (cp1252) as well; no other file is
            guessed to be.
    """
    with readable(path):
        content = path.read_bytes()
    if western:
        content = _from_western(content)
    return list(text_lines(path, io.BytesIO(content)))


def split_columns(file: Path) -> tuple[Path, str]:
    """Take ``FILE:COLUMN,COLUMN`` apart; a file of that very name comes first."""
    name, colon, columns = str(file).rpartition(":")
    if colon and not file.is_file() and Path(name).is_file():
        return Path(name), columns
    return file, ""


def named_columns(file: Path, columns: Sequence[Column]) -> tuple[Path, list[Column]]:
    """The file of ``FILE`` or ``FILE:COLUMN,COLUMN``, and its columns as they were asked for."""
    path, given = split_columns(file)
    asked: Sequence[str | None] = [None] * len(columns)
    if path != file:
        asked = [column or None for column in given.split(",")]
    if len(asked) != len(columns) or (path != file and None in asked):
        roles = ",".join(column.role for column in columns)
        raise UserError(f"{file}: name {len(columns)} columns after the file: {path}:{roles}.")
    option = f"{path.name}:{','.join(['COLUMN'] * len(columns))}"
    return path, [
        replace(column, asked=place, option=option)
        for column, place in zip(columns, asked, strict=True)
    ]


def check_table(file: Path, columns: Sequence[Column]) -> None:
    """Refuse at once, from its beginning, a file that has not the columns."""
    path, wanted = named_columns(file, columns)
    if not path.is_file():
        raise UserError(f"{path} is not a file.")
    if is_light(path):
        with readable(path), path.open("rb") as raw:
            open_table(path, raw, wanted, doubtful=False)


def read_table(path: Path, columns: Sequence[Column]) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield (line number, the values of ``columns``) of a csv, tsv, text, jsonl or parquet file.

    Which columns were taken is said, and so is how many lines were left out because they do not fit.
    """
    if not path.is_file():
        raise UserError(f"{path} is not a file.")
    with readable(path), path.open("rb") as raw:
        table = open_table(path, raw, columns, doubtful=False)
        log(f"{path}: {table.told}.")
        for number, values in table:
            if values is not None:
                yield number, values
    if table.ragged:
        log(f"{path}: {table.ragged:,} lines have too many or too few cells and were left out.")


def _from_western(content: bytes) -> bytes:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace").encode()
    return content
