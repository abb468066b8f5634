"""Read a table of any format, for a corpus or for evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from clusterns.data.columns import Column, find_columns
from clusterns.data.delimited import Delimited
from clusterns.data.kinds import file_format
from clusterns.data.lines import text_chunks, text_lines
from clusterns.errors import UserError

if TYPE_CHECKING:
    from clusterns.data.parquet import ParquetTable

Table: TypeAlias = "Delimited | JsonRecords | ParquetTable"
"""A table with its columns located. ``description`` describes them for messages; ``ragged`` counts the ragged lines
skipped so far. Iteration yields each line's number and its values in the order of the columns, or None for a line
without values or with the wrong number of them."""


def open_table(
    path: Path, raw: BinaryIO, columns: Sequence[Column], *, assume_header: bool = True
) -> Table:
    """Open a csv, tsv, text, jsonl or parquet file and find its columns.

    Args:
        path: name of the file; its extension determines how it is read.
        raw: the opened file.
        columns: the columns to read.
        assume_header: whether an ambiguous first line is a header; otherwise the file is refused.
    """
    kind = file_format(path)
    if kind == ".parquet":
        from clusterns.data.parquet import ParquetTable

        return ParquetTable(path, raw, columns)
    if kind in (".json", ".jsonl", ".ndjson"):
        return JsonRecords(path, raw, columns)
    return Delimited(path, raw, columns, assume_header=assume_header)


class JsonRecords:
    """JSON objects, one per line; a .json file may also be one array, which is read at once.

    The first object determines which columns are read.
    """

    ragged = 0

    def __init__(self, path: Path, raw: BinaryIO, columns: Sequence[Column]) -> None:
        self._path = path
        self._columns, self._names = columns, list[str]()
        self._values = _json_values(path, raw)
        self._passed: list[tuple[str, int, Any]] = []
        for where, number, record in self._values:
            self._passed.append((where, number, record))
            if record is not None:
                self._names = _names(where, record, columns)
                break

    @property
    def description(self) -> str:
        """The columns that are read, for messages."""
        pairs = zip(self._columns, self._names, strict=False)
        return ", ".join(f"{column.role} is {name!r}" for column, name in pairs) or "empty"

    def __iter__(self) -> Iterator[tuple[int, Sequence[Any] | None]]:
        """Yield each line's number and values; None for a blank line."""
        found = [Column(c.role, name) for c, name in zip(self._columns, self._names, strict=False)]
        for where, number, record in chain(self._passed, self._values):
            if record is None:
                yield number, None
                continue
            if not isinstance(record, dict) or not record.keys() >= set(self._names):
                _names(where, record, found)  # raises the error
            yield number, [record[name] for name in self._names]


def _json_values(path: Path, raw: BinaryIO) -> Iterator[tuple[str, int, Any]]:
    """Yield each JSON value with its location and number; None for a blank line. A string in an array is a text."""
    if file_format(path) == ".json":
        start = "".join(islice(text_chunks(path, raw), 2))
        raw.seek(0)
        if start.lstrip().startswith("["):
            try:
                values = json.loads("".join(text_chunks(path, raw)))
            except (ValueError, RecursionError) as error:
                raise UserError(f"{path} is not JSON ({error}).") from error
            for number, value in enumerate(values, start=1):
                record = {"text": value} if isinstance(value, str) else value
                yield f"{path}: item {number:,}", number, record
            return
    for number, line in enumerate(text_lines(path, raw), start=1):
        where = f"{path}: line {number:,}"
        try:
            yield where, number, json.loads(line) if line.strip() else None
        except (ValueError, RecursionError) as error:
            raise UserError(f"{where} is not JSON ({error}).") from error


def _names(where: str, record: Any, columns: Sequence[Column]) -> list[str]:
    if not isinstance(record, dict):
        raise UserError(f"{where} is not a JSON object.")
    names = list(record)
    texts = [place for place, value in enumerate(record.values()) if isinstance(value, str | None)]
    return [names[place] for place in find_columns(where, names, texts, columns)]
