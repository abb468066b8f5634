"""One file to batches of raw text, with ids and documents where asked for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from clusterns.data.columns import Columns
from clusterns.data.delimited import Delimited
from clusterns.data.documents import LineDocuments, document_numbers
from clusterns.data.kinds import HTML, file_format, is_plain
from clusterns.data.lines import BLOCK, text_blocks, text_lines
from clusterns.data.parquet import ParquetTable, column_names, is_text
from clusterns.data.sentences import SAMPLE, Wrapping, unwrap
from clusterns.data.tables import Table, open_table
from clusterns.errors import UserError

# What is read of every row; the id is null where no column of ids was asked for.
ROWS = pa.schema([("text", pa.string()), ("id", pa.string())])
# Where documents are asked for: numbers, null for a row that belongs to none.
DOCUMENT = pa.field("document", pa.int64())


def read_file(
    path: Path, raw: BinaryIO, columns: Columns, counts: Counter[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield one opened file in batches of ``ROWS``, and ``DOCUMENT`` where asked for.

    A missing value is null, and so is all of a row that does not fit: ``counts`` is told how many
    of these are ``ragged``.
    """
    if is_plain(path, columns):
        yield from _lines(path, raw, columns)
        return
    table = open_table(path, raw, columns.wanted())
    if isinstance(table, ParquetTable):
        yield from (_typed(path, batch, table.names, columns) for batch in table.batches())
    else:
        yield from _batches(path, table, columns)
    if counts is not None:
        counts["ragged"] += table.ragged


def table_rows(where: object, table: pa.Table, columns: Columns) -> pa.RecordBatch:
    """Take what is asked for of a typed table."""
    return _typed(where, table, column_names(where, table.schema, columns.wanted()), columns)


def _lines(path: Path, raw: BinaryIO, columns: Columns) -> Iterator[pa.RecordBatch]:
    documents = columns.document and LineDocuments(columns.document)
    for lines in _unwrapped_lines(path, raw) if columns.unwrap else _raw_lines(path, raw):
        yield _rows(lines, None, documents and documents.of(lines))


def _raw_lines(path: Path, raw: BinaryIO) -> Iterator[pa.Array]:
    for block in text_blocks(path, raw):
        yield pc.split_pattern(pa.array([block.removesuffix("\n")]), "\n").flatten()


def _unwrapped_lines(path: Path, raw: BinaryIO) -> Iterator[pa.Array]:
    wrapping = find_wrapping(path, raw)
    raw.seek(0)
    if wrapping is None:
        yield from _raw_lines(path, raw)
        return
    texts = (text for _, text in unwrap(text_lines(path, raw), wrapping))
    while some := list(islice(texts, 10_000)):
        yield pa.array(some, pa.string())


def find_wrapping(path: Path, raw: BinaryIO) -> Wrapping | None:
    """Judge from its beginning whether a text file is hard-wrapped; the lines of HTML mean nothing."""
    if file_format(path) in HTML:
        return None
    return Wrapping.find(list(islice(text_lines(path, raw), SAMPLE)))


def _typed(
    where: object, table: pa.RecordBatch | pa.Table, names: list[str], columns: Columns
) -> pa.RecordBatch:
    texts, *others = (table.column(name) for name in names)
    if not is_text(texts.type):
        raise UserError(f"{where}: column {names[0]!r} holds {texts.type}, not text.")
    for name, values in zip(names[1 : len(names) - len(columns.keep)], others, strict=False):
        if not (is_text(values.type) or pa.types.is_integer(values.type)):
            raise UserError(
                f"{where}: column {name!r} holds {values.type}; ids are strings or whole numbers."
            )
    return _asked(columns, [_strings(where, values) for values in (texts, *others)])


def _batches(path: Path, table: Table, columns: Columns) -> Iterator[pa.RecordBatch]:
    roles = [column.role for column in columns.wanted()]
    batch: list[list[str | None]] = []
    size = 0
    nothing: list[str | None] = [None] * len(roles)
    are_strings = isinstance(table, Delimited)
    for line, values in table:
        if values is None:
            row = nothing
        else:
            row = list(values) if are_strings else _row(path, line, roles, values)
        batch.append(row)
        size += len(row[0] or "") + 1
        if size >= BLOCK:
            yield _asked(columns, _arrays(batch))
            batch, size = [], 0
    if batch:
        yield _asked(columns, _arrays(batch))


def _arrays(batch: list[list[str | None]]) -> list[pa.Array]:
    return [pa.array(values, pa.string()) for values in zip(*batch, strict=True)]


def _row(path: Path, line: int, roles: list[str], values: Iterable[Any]) -> list[str | None]:
    return [
        value if type(value) is str and value.isascii() else _string(path, line, role, value)
        for role, value in zip(roles, values, strict=True)
    ]


def _string(path: Path, line: int, role: str, value: Any) -> str | None:
    if value is None:
        return None
    if role == "value" and not isinstance(value, str):
        return json.dumps(value)
    # In Python, though not in JSON, true is a whole number.
    if role != "text" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise UserError(
            f"{path}: line {line:,}: the {role} is {json.dumps(value)[:40]}, not a string."
        )
    # JSON can spell half a surrogate pair, which no UTF-8 file can hold.
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _strings(where: object, values: pa.Array | pa.ChunkedArray) -> pa.Array:
    try:
        values = values.cast(pa.string())
        values.validate(full=True)  # a table can claim that any bytes are a string
    except pa.ArrowException as error:
        raise UserError(f"cannot read {where}: it is cut off or damaged ({error}).") from error
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _asked(columns: Columns, values: list[pa.Array]) -> pa.RecordBatch:
    """Put the values of the columns wanted in their places."""
    end = len(values) - len(columns.keep)
    (texts, *others), kept = values[:end], values[end:]
    documents = None if columns.document is None else document_numbers(others.pop())
    rows = _rows(texts, others.pop() if others else None, documents)
    for name, column in zip(columns.keep, kept, strict=True):
        rows = rows.append_column(pa.field(name, pa.string()), column)
    return rows


def _rows(texts: pa.Array, ids: pa.Array | None, documents: pa.Array | None) -> pa.RecordBatch:
    ids = pa.nulls(len(texts), pa.string()) if ids is None else ids
    if documents is None:
        return pa.record_batch([texts, ids], schema=ROWS)
    return pa.record_batch([texts, ids, documents], schema=ROWS.append(DOCUMENT))
