"""One file to batches of raw text and ids: plain lines, JSON lines, csv, tsv, parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clusterns.corpus.kinds import file_format
from clusterns.corpus.lines import BLOCK, text_blocks, text_lines
from clusterns.errors import UserError

# What is read of every row; the id is null where no column of ids was asked for.
ROWS = pa.schema([("text", pa.string()), ("id", pa.string())])


class Columns(NamedTuple):
    """Which columns hold the text and the ids; text None: to be found out; id None: no ids."""

    text: str | None = None
    id: str | None = None


Row = tuple[str | None, str | None]
Reader = Callable[[Path, BinaryIO, Columns], Iterator[pa.RecordBatch]]


def read_file(path: Path, raw: BinaryIO, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yield the texts and ids of one opened file in batches of ``ROWS``; a missing value is null."""
    return READERS[file_format(path)](path, raw, columns)


def choose_columns(
    where: object, names: Iterable[str], texts: Sequence[str], asked: Columns
) -> Columns:
    """Pick the column of text: the one asked for, else "text", "sentence", or the only one there is.

    ``texts`` are those of the columns that hold text; one that holds the ids is not picked.
    """
    listed = ", ".join(map(repr, names)) or "none"
    for name in asked:
        if name is not None and name not in names:
            raise UserError(f"{where} has no column {name!r}; its columns are {listed}.")
    if asked.text is not None:
        return asked
    texts = [name for name in texts if name != asked.id]
    for usual in ("text", "sentence"):
        if usual in texts:
            return asked._replace(text=usual)
    if len(texts) != 1:
        raise UserError(f"{where}: say which column holds the text; its columns are {listed}.")
    return asked._replace(text=texts[0])


def table_columns(where: object, schema: pa.Schema, asked: Columns) -> Columns:
    """Pick the columns of a typed table."""
    strings = [field.name for field in schema if is_text(field.type)]
    return choose_columns(where, schema.names, strings, asked)


def table_rows(where: object, table: pa.RecordBatch | pa.Table, columns: Columns) -> pa.RecordBatch:
    """Take the text and the ids of a table as strings."""
    texts = table.column(columns.text)
    if not is_text(texts.type):
        raise UserError(f"{where}: column {columns.text!r} holds {texts.type}, not text.")
    if columns.id is None:
        return _rows(_strings(texts))
    ids = table.column(columns.id)
    if not (is_text(ids.type) or pa.types.is_integer(ids.type)):
        raise UserError(
            f"{where}: column {columns.id!r} holds {ids.type}; ids are strings or whole numbers."
        )
    return _rows(_strings(texts), _strings(ids))


def _strings(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    values = values.cast(pa.string())
    values.validate(full=True)  # a table can claim that any bytes are a string
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _rows(texts: pa.Array, ids: pa.Array | None = None) -> pa.RecordBatch:
    ids = pa.nulls(len(texts), pa.string()) if ids is None else ids
    return pa.record_batch([texts, ids], schema=ROWS)


def is_text(kind: pa.DataType) -> bool:
    """Tell whether an Arrow type is a kind of string."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def _read_lines(path: Path, raw: BinaryIO, columns: Columns) -> Iterator[pa.RecordBatch]:
    if columns.id is not None:
        raise UserError(f"{path} is plain text: it has no column {columns.id!r} of ids.")
    for block in text_blocks(path, raw):
        yield _rows(pc.split_pattern(pa.array([block.removesuffix("\n")]), "\n").flatten())


def _read_json(path: Path, raw: BinaryIO, columns: Columns) -> Iterator[pa.RecordBatch]:
    return _batches(_json_rows(path, raw, columns))


def _json_rows(path: Path, raw: BinaryIO, columns: Columns) -> Iterator[Row]:
    for number, line in enumerate(text_lines(path, raw), start=1):
        if not line.strip():
            yield None, None
            continue
        where = f"{path}: line {number:,}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{where} is not JSON ({error}).") from error
        if not isinstance(record, dict):
            raise UserError(f"{where} is not a JSON object; one object a line is needed.")
        if columns.text not in record or columns.id not in (None, *record):
            strings = [key for key, value in record.items() if isinstance(value, str | None)]
            columns = choose_columns(where, record, strings, columns)
        text = _json_text(where, columns.text, record[columns.text])
        yield text, columns.id and _json_id(where, columns.id, record[columns.id])


def _json_text(where: str, column: str | None, value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise UserError(f"{where}: {column!r} is {json.dumps(value)[:40]}, not a string.")
    if value.isascii():
        return value
    # JSON can spell half a surrogate pair, which no UTF-8 file can hold.
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _json_id(where: str, column: str, value: Any) -> str | None:
    # In Python, though not in JSON, true is a whole number.
    whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if whole else _json_text(where, column, value)


def _read_csv(path: Path, raw: BinaryIO, columns: Columns) -> Iterator[pa.RecordBatch]:
    return _batches(_csv_rows(path, raw, columns))


def _csv_rows(path: Path, raw: BinaryIO, columns: Columns) -> Iterator[Row]:
    rows = _csv_cells(path, raw)
    _, header = next(rows, (0, []))
    positions: list[int] = []
    for line, row in rows:
        if not row:
            yield None, None
            continue
        if len(row) != len(header):
            raise UserError(
                f"{path}: line {line:,} has {len(row)} cells, but the first line names "
                f"{len(header)} columns."
            )
        if not positions:
            strings = [name for name, cell in zip(header, row, strict=True) if not _is_number(cell)]
            chosen = choose_columns(path, header, strings, columns)
            positions = [header.index(name) for name in chosen if name is not None]
        yield row[positions[0]], row[positions[1]] if columns.id is not None else None


def _csv_cells(path: Path, raw: BinaryIO) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the line it starts on."""
    lines = (line + "\n" for line in text_lines(path, raw))
    # Tab-separated text has no quoting: a quotation mark there is a quotation mark.
    if file_format(path) == ".tsv":
        rows = csv.reader(lines, "excel-tab", quoting=csv.QUOTE_NONE)
    else:
        rows = csv.reader(lines, strict=True)
    line = 1
    try:
        for row in rows:
            yield line, row
            line = rows.line_num + 1
    except csv.Error as error:
        raise UserError(
            f"{path}: line {line:,} is broken csv ({error}); "
            "is a quotation mark missing, or not written twice inside a quoted cell?"
        ) from error


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return not cell
    return True


def _read_parquet(path: Path, raw: BinaryIO, columns: Columns) -> Iterator[pa.RecordBatch]:
    try:
        file = pq.ParquetFile(raw)
        chosen = table_columns(path, file.schema_arrow, columns)
        wanted = [name for name in chosen if name is not None]
        for batch in file.iter_batches(batch_size=8192, columns=wanted):
            yield table_rows(path, batch, chosen)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"cannot read {path}: it is cut off or damaged ({error}).") from error


def _batches(rows: Iterator[Row]) -> Iterator[pa.RecordBatch]:
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row[0] or "") + 1
        if size >= BLOCK:
            yield _rows(*(pa.array(values, pa.string()) for values in zip(*batch, strict=True)))
            batch, size = [], 0
    if batch:
        yield _rows(*(pa.array(values, pa.string()) for values in zip(*batch, strict=True)))


READERS: dict[str, Reader] = {
    ".txt": _read_lines,
    ".json": _read_json,
    ".jsonl": _read_json,
    ".ndjson": _read_json,
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".parquet": _read_parquet,
}
