"""Read one file in batches of text, ids, documents and kept columns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from clusterns.data.columns import Columns
from clusterns.data.documents import document_numbers, line_documents
from clusterns.data.kinds import HTML, MARKUP, file_format
from clusterns.data.lines import BLOCK, text_blocks, text_lines
from clusterns.data.markup import MARK
from clusterns.data.parquet import ParquetTable, column_names, is_text
from clusterns.data.sentences import SAMPLE, Wrapping, unwrap
from clusterns.data.tables import Table, open_table
from clusterns.errors import UserError


def read_table(
    path: Path, raw: BinaryIO, columns: Columns, counts: Counter[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield an opened table in batches with the columns text, id and document, and the kept columns.

    Ids are null if there is no id column. A document is a number, or null for a row without a document. A missing
    value is null, as are all values of a ragged row; ``counts["ragged"]`` counts these rows.
    """
    table = open_table(path, raw, columns.wanted())
    if isinstance(table, ParquetTable):
        yield from (_typed(path, batch, table.names, columns) for batch in table.batches())
    else:
        yield from _untyped(path, table, columns)
    if counts is not None:
        counts["ragged"] += table.ragged


def table_rows(where: object, table: pa.Table, columns: Columns) -> pa.RecordBatch:
    """Select the columns of a typed table."""
    return _typed(where, table, column_names(where, table.schema, columns.wanted()), columns)


def find_wrapping(path: Path, raw: BinaryIO) -> Wrapping | None:
    """Determine from its first lines whether to join the lines of a text file.

    Lines of a Markdown or reStructuredText paragraph are always joined. HTML is already split into blocks.
    """
    kind = file_format(path)
    if kind in HTML:
        return None
    return Wrapping.find(list(islice(text_lines(path, raw), SAMPLE)), reflowed=kind in MARKUP)


def read_lines(path: Path, raw: BinaryIO, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yield the lines of an opened text file in batches with the columns of :func:`read_table`."""
    last = 0
    for lines in _lines(path, raw, columns.unwrap):
        values = {"text": lines, "id": pa.nulls(len(lines), pa.string())}
        if columns.document is not None:
            values["document"] = line_documents(lines, columns.document, last)
            last = values["document"][-1].as_py()
        if file_format(path) in MARKUP:
            values["text"] = pc.replace_substring_regex(lines, MARK, "")
        yield pa.record_batch(values)


def _lines(path: Path, raw: BinaryIO, unwrapped: bool) -> Iterator[pa.Array]:
    wrapping = find_wrapping(path, raw) if unwrapped else None
    raw.seek(0)
    if wrapping is None:
        for block in text_blocks(path, raw):
            yield pc.split_pattern(pa.array([block.removesuffix("\n")]), "\n").flatten()
        return
    texts = (text for _, text in unwrap(text_lines(path, raw), wrapping))
    while some := list(islice(texts, 10_000)):
        yield pa.array(some, pa.string())


def _typed(
    where: object, table: pa.RecordBatch | pa.Table, names: Sequence[str], columns: Columns
) -> pa.RecordBatch:
    arrays = []
    for column, name in zip(columns.wanted(), names, strict=True):
        values = table.column(name)
        if column.role == "text" and not is_text(values.type):
            raise UserError(f"{where}: column {name!r} has type {values.type}, not text.")
        is_name = is_text(values.type) or pa.types.is_integer(values.type)
        if column.role in ("id", "document") and not is_name:
            raise UserError(
                f"{where}: column {name!r} has type {values.type}, but ids must be strings or integers."
            )
        try:
            values = values.cast(pa.string())
            values.validate(full=True)  # a table can declare invalid UTF-8 as a string
        except pa.ArrowException as error:
            raise UserError(
                f"cannot read {where}: it is truncated or damaged ({error})."
            ) from error
        arrays.append(values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values)
    return _batch(columns, arrays)


def _untyped(path: Path, table: Table, columns: Columns) -> Iterator[pa.RecordBatch]:
    roles = [column.role for column in columns.wanted()]
    rows: list[list[str | None]] = []
    size = 0
    for line, values in table:
        rows.append(
            [
                value
                if type(value) is str and value.isascii()
                else _string(path, line, role, value)
                for role, value in zip(roles, values or [None] * len(roles), strict=True)
            ]
        )
        size += len(rows[-1][0] or "") + 1
        if size >= BLOCK:
            yield _batch(columns, zip(*rows, strict=True))
            rows, size = [], 0
    if rows:
        yield _batch(columns, zip(*rows, strict=True))


def _string(path: Path, line: int, role: str, value: Any) -> str | None:
    if value is None:
        return None
    if role == "value" and not isinstance(value, str):
        return json.dumps(value)
    # In Python, unlike JSON, true is an integer.
    if role != "text" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        place = "item" if file_format(path) == ".json" else "line"
        raise UserError(
            f"{path}: {place} {line:,}: the {role} is {json.dumps(value)[:40]}, not a string."
        )
    # JSON can escape half of a surrogate pair, which UTF-8 cannot encode.
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _batch(columns: Columns, values: Iterable[Any]) -> pa.RecordBatch:
    """Build a batch with the expected column names from the array or tuple of each column."""
    arrays = [pa.array(v, pa.string()) if isinstance(v, tuple) else v for v in values]
    roles = [column.role for column in columns.wanted()]
    named = dict(
        zip([role for role in roles if role != "value"] + [*columns.keep], arrays, strict=True)
    )
    named = {
        "text": named.pop("text"),
        "id": named.pop("id", pa.nulls(len(arrays[0]), pa.string())),
    } | named
    if columns.document is not None:
        named["document"] = document_numbers(named["document"])
    return pa.record_batch(named)
