"""Parquet files: tables with named, typed columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from clusterns.data.columns import Column, find_columns
from clusterns.errors import UserError

BATCH = 8192


class ParquetTable:
    """An opened file with its columns located."""

    ragged = 0

    def __init__(self, path: Path, raw: BinaryIO, columns: Sequence[Column]) -> None:
        self._path = path
        with _damage(path):
            self._file = pq.ParquetFile(raw)
            self.names = column_names(path, self._file.schema_arrow, columns)
        self.description = ", ".join(
            f"{column.role} is {name!r}" for column, name in zip(columns, self.names, strict=True)
        )

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the columns in batches."""
        with _damage(self._path):
            yield from self._file.iter_batches(batch_size=BATCH, columns=sorted({*self.names}))

    def __iter__(self) -> Iterator[tuple[int, Sequence[Any] | None]]:
        """Yield each row's number, from 1, and values."""
        rows = (row for batch in self.batches() for row in batch.to_pylist())
        for number, row in enumerate(rows, start=1):
            yield number, [row[name] for name in self.names]


def column_names(where: object, schema: pa.Schema, columns: Sequence[Column]) -> list[str]:
    """Find columns in a typed table."""
    texts = [place for place, field in enumerate(schema) if is_text(field.type)]
    names = list(schema.names)
    return [names[place] for place in find_columns(where, names, texts, columns)]


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a string type."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"cannot read {path}: it is truncated or damaged ({error}).") from error
