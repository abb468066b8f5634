"""One way to read a table, for a corpus and for evaluation: its rows, and which columns were taken."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from clusterns.data.columns import Column, find_columns
from clusterns.data.delimited import Delimited
from clusterns.data.kinds import file_format
from clusterns.data.lines import LONGEST_LINE, text_chunks, text_lines
from clusterns.errors import UserError

_BETWEEN = re.compile(r"\s*[\[,]\s*(?=[^\s\]])")  # before an item of a JSON array


class Table(Protocol):
    """A table whose columns are found."""

    ragged: int
    """Lines that were left out so far because they do not fit."""

    @property
    def told(self) -> str:
        """Which columns were chosen, for people."""

    def __iter__(self) -> Iterator[tuple[int, Sequence[Any] | None]]:
        """Yield the number of each line with its values, in the order of the columns wanted.

        None stands for a line without values, or with too many or too few.
        """
        raise NotImplementedError


def open_table(
    path: Path, raw: BinaryIO, columns: Sequence[Column], *, doubtful: bool = True
) -> Table:
    """Open a csv, tsv, text, jsonl or parquet file and find its columns.

    Args:
        path: what the file is called; its ending says how it is read.
        raw: the opened file.
        columns: what to read of it.
        doubtful: whether a first line that may be a row as well is taken for a header; else such a
            file is refused.
    """
    kind = file_format(path)
    if kind == ".parquet":
        from clusterns.data.parquet import ParquetTable

        return ParquetTable(path, raw, columns)
    if kind in (".json", ".jsonl", ".ndjson"):
        return JsonRecords(path, raw, columns)
    return Delimited(path, raw, columns, doubtful=doubtful)


class JsonRecords:
    """JSON objects, one a line, or in a .json file also in an array.

    The first one decides which columns are meant.
    """

    ragged = 0

    def __init__(self, path: Path, raw: BinaryIO, columns: Sequence[Column]) -> None:
        self._path, self._columns = path, columns
        self._values = _line_values(path, raw)
        if file_format(path) == ".json":
            start = next(text_chunks(path, raw), "").lstrip()
            raw.seek(0)
            if start.startswith("["):
                self._values = _array_items(path, raw)
        self._names: list[str] = []
        self._passed: list[tuple[int, dict[str, Any] | None]] = []
        for line in self._records():
            self._passed.append(line)
            if line[1] is not None:
                break

    @property
    def told(self) -> str:
        """Which columns were chosen, for people."""
        pairs = zip(self._columns, self._names, strict=True) if self._names else ()
        return ", ".join(f"{column.role} is {name!r}" for column, name in pairs) or "empty"

    def __iter__(self) -> Iterator[tuple[int, Sequence[Any] | None]]:
        """Yield the number of each line with its values; None for a blank line."""
        for number, record in chain(self._passed, self._records()):
            yield number, None if record is None else [record[name] for name in self._names]

    def _records(self) -> Iterator[tuple[int, dict[str, Any] | None]]:
        for number, record in self._values:
            if record is None:
                yield number, None
                continue
            where = f"{self._path}: line {number:,}"
            if not isinstance(record, dict):
                raise UserError(f"{where} is not a JSON object; one object a line is needed.")
            if not self._names:
                self._names = _names(where, record, self._columns)
            if not record.keys() >= set(self._names):
                found = [
                    Column(column.role, name)
                    for column, name in zip(self._columns, self._names, strict=True)
                ]
                _names(where, record, found)  # says which one is missing
            yield number, record


def _line_values(path: Path, raw: BinaryIO) -> Iterator[tuple[int, Any]]:
    """Yield the number and the JSON value of each line; None for a blank line."""
    for number, line in enumerate(text_lines(path, raw), start=1):
        try:
            yield number, json.loads(line) if line.strip() else None
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}: line {number:,} is not JSON ({error}).") from error


def _array_items(path: Path, raw: BinaryIO) -> Iterator[tuple[int, Any]]:
    """Yield the items of a JSON array, each with the line it begins on; a string is a text.

    Only a piece of the file is in memory at a time, so an array may be of any size.
    """
    decode = json.JSONDecoder().raw_decode
    text, at, line = "", 0, 1
    error: Exception | str = "it is cut off"
    for chunk in text_chunks(path, raw):
        text, at = text[at:] + chunk, 0
        while between := _BETWEEN.match(text, at):
            try:
                item, end = decode(text, between.end())
            except (ValueError, RecursionError) as trouble:  # the item may go on in the next chunk
                error = trouble
                break
            line += text.count("\n", at, between.end())
            yield line, {"text": item} if isinstance(item, str) else item
            line += text.count("\n", between.end(), end)
            at = end
        if len(text) - at > LONGEST_LINE:
            break
    if "".join(text[at:].split()) not in ("]", "[]"):
        line += text.count("\n", at) - text[at:].lstrip(" \n,[").count("\n")
        raise UserError(f"{path}: line {line:,}: an item of the array is not JSON ({error}).")


def _names(where: str, record: dict[str, Any], columns: Sequence[Column]) -> list[str]:
    names = list(record)
    texts = [place for place, value in enumerate(record.values()) if isinstance(value, str | None)]
    return [names[place] for place in find_columns(where, names, texts, columns)]
