"""One file to batches of raw text: plain lines, JSON lines, csv, tsv, parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clusterns.corpus.lines import BLOCK, UNPACK, text_blocks, text_lines
from clusterns.errors import UserError

Reader = Callable[[Path, BinaryIO, str | None], Iterator[pa.Array]]


def file_format(path: Path) -> str:
    """Name the ending that says what a file holds: ``corpus.jsonl.gz`` gives ``.jsonl``."""
    endings = [suffix.lower() for suffix in path.suffixes]
    if endings and endings[-1] in UNPACK:
        endings.pop()
    return endings[-1] if endings and endings[-1] in READERS else ".txt"


def is_data_file(path: Path) -> bool:
    """Tell whether a file's ending is one of those we know."""
    return path.suffix.lower() in READERS.keys() | UNPACK.keys()


def read_file(path: Path, raw: BinaryIO, column: str | None) -> Iterator[pa.Array]:
    """Yield the texts of one opened file in batches; a missing value is null."""
    return READERS[file_format(path)](path, raw, column)


def choose_column(
    where: object, columns: Iterable[str], texts: Sequence[str], column: str | None
) -> str:
    """Pick the column of text: the one asked for, else "text", "sentence", or the only one there is.

    ``texts`` are those of the ``columns`` that hold text.
    """
    names = ", ".join(map(repr, columns)) or "none"
    if column is not None:
        if column not in columns:
            raise UserError(f"{where} has no column {column!r}; its columns are {names}.")
        return column
    for usual in ("text", "sentence"):
        if usual in texts:
            return usual
    if len(texts) != 1:
        raise UserError(f"{where}: say which column holds the text; its columns are {names}.")
    return texts[0]


def column_texts(where: object, table: pa.RecordBatch | pa.Table, column: str) -> pa.Array:
    """Take one column of a table as strings."""
    values = table.column(column)
    if not is_text(values.type):
        raise UserError(f"{where}: column {column!r} holds {values.type}, not text.")
    values = values.cast(pa.string())
    values.validate(full=True)  # a table can claim that any bytes are a string
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def is_text(kind: pa.DataType) -> bool:
    """Tell whether an Arrow type is a kind of string."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def _read_lines(path: Path, raw: BinaryIO, column: str | None) -> Iterator[pa.Array]:
    for block in text_blocks(path, raw):
        yield pc.split_pattern(pa.array([block.removesuffix("\n")]), "\n").flatten()


def _read_json(path: Path, raw: BinaryIO, column: str | None) -> Iterator[pa.Array]:
    return _batches(_json_texts(path, raw, column))


def _json_texts(path: Path, raw: BinaryIO, column: str | None) -> Iterator[str | None]:
    for number, line in enumerate(text_lines(path, raw), start=1):
        if not line.strip():
            yield None
            continue
        where = f"{path}: line {number:,}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{where} is not JSON ({error}).") from error
        if not isinstance(record, dict):
            raise UserError(f"{where} is not a JSON object; one object a line is needed.")
        if column is None or column not in record:
            strings = [key for key, value in record.items() if isinstance(value, str | None)]
            column = choose_column(where, record, strings, column)
        yield _json_text(where, column, record[column])


def _json_text(where: str, column: str, value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise UserError(f"{where}: {column!r} is {json.dumps(value)[:40]}, not a string.")
    if value.isascii():
        return value
    # JSON can spell half a surrogate pair, which no UTF-8 file can hold.
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _read_csv(path: Path, raw: BinaryIO, column: str | None) -> Iterator[pa.Array]:
    return _batches(_csv_texts(path, raw, column))


def _csv_texts(path: Path, raw: BinaryIO, column: str | None) -> Iterator[str | None]:
    rows = _csv_rows(path, raw)
    _, header = next(rows, (0, []))
    position = None
    for line, row in rows:
        if not row:
            yield None
            continue
        if len(row) != len(header):
            raise UserError(
                f"{path}: line {line:,} has {len(row)} cells, but the first line names "
                f"{len(header)} columns."
            )
        if position is None:
            strings = [name for name, cell in zip(header, row, strict=True) if not _is_number(cell)]
            position = header.index(choose_column(path, header, strings, column))
        yield row[position]


def _csv_rows(path: Path, raw: BinaryIO) -> Iterator[tuple[int, list[str]]]:
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


def _read_parquet(path: Path, raw: BinaryIO, column: str | None) -> Iterator[pa.Array]:
    try:
        file = pq.ParquetFile(raw)
        schema = file.schema_arrow
        strings = [field.name for field in schema if is_text(field.type)]
        column = choose_column(path, schema.names, strings, column)
        for batch in file.iter_batches(batch_size=8192, columns=[column]):
            yield column_texts(path, batch, column)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"cannot read {path}: it is cut off or damaged ({error}).") from error


def _batches(texts: Iterator[str | None]) -> Iterator[pa.Array]:
    batch: list[str | None] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text or "") + 1
        if size >= BLOCK:
            yield pa.array(batch, pa.string())
            batch, size = [], 0
    if batch:
        yield pa.array(batch, pa.string())


READERS: dict[str, Reader] = {
    ".txt": _read_lines,
    ".json": _read_json,
    ".jsonl": _read_json,
    ".ndjson": _read_json,
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".parquet": _read_parquet,
}
