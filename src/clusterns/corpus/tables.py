"""One way to read a table, for a corpus and for evaluation: its rows, and which columns were taken."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from clusterns.corpus.columns import Column, find_columns
from clusterns.corpus.delimited import Delimited
from clusterns.corpus.kinds import file_format
from clusterns.corpus.lines import text_lines
from clusterns.errors import UserError


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
        from clusterns.corpus.parquet import ParquetTable

        return ParquetTable(path, raw, columns)
    if kind in (".json", ".jsonl", ".ndjson"):
        return JsonLines(path, raw, columns)
    return Delimited(path, raw, columns, doubtful=doubtful)


class JsonLines:
    """One JSON object a line; the first one decides which columns are meant."""

    ragged = 0

    def __init__(self, path: Path, raw: BinaryIO, columns: Sequence[Column]) -> None:
        self._path, self._columns = path, columns
        self._lines = enumerate(text_lines(path, raw), start=1)
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
        for number, line in self._lines:
            if not line.strip():
                yield number, None
                continue
            where = f"{self._path}: line {number:,}"
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UserError(f"{where} is not JSON ({error}).") from error
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


def _names(where: str, record: dict[str, Any], columns: Sequence[Column]) -> list[str]:
    names = list(record)
    texts = [place for place, value in enumerate(record.values()) if isinstance(value, str | None)]
    return [names[place] for place in find_columns(where, names, texts, columns)]
