"""A corpus to tables of so many rows each, in its order, with an id for every text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clusterns.data.columns import Columns
from clusterns.data.sources import Source
from clusterns.errors import UserError

LONGEST_ID = 1000  # characters; more is the text itself, taken for an id by mistake


def tables(
    sources: Sequence[Source], columns: Columns, size: int, advance: Callable[[int], object]
) -> Iterator[pa.Table]:
    """Yield every row of the sources, ``size`` rows a table; the last one may be shorter.

    A table has the columns ``id`` (int64: the number of the row; or string) and ``text`` (never
    null). ``advance`` is told how many more bytes were read.
    """
    pending: list[pa.RecordBatch] = []
    rows = start = 0
    for batch in _batches(sources, columns, advance):
        while rows + batch.num_rows >= size:
            table = pa.Table.from_batches([*pending, batch.slice(0, size - rows)])
            yield _with_ids(table, columns, start)
            batch = batch.slice(size - rows)
            start += size
            pending, rows = [], 0
        if batch.num_rows:
            pending.append(batch)
            rows += batch.num_rows
    if pending:
        yield _with_ids(pa.Table.from_batches(pending), columns, start)


def _batches(
    sources: Sequence[Source], columns: Columns, advance: Callable[[int], object]
) -> Iterator[pa.RecordBatch]:
    for source in sources:
        for batch in source.rows(columns, advance):
            if columns.id is None:
                yield batch
            else:
                # An empty line between two records is no record.
                blank = pc.and_(pc.is_null(batch["text"]), pc.is_null(batch["id"]))
                yield batch.filter(pc.invert(blank))


def _with_ids(table: pa.Table, columns: Columns, start: int) -> pa.Table:
    texts = pc.fill_null(table["text"], "")
    if columns.id is None:
        return pa.table({"id": np.arange(start, start + len(texts)), "text": texts})
    ids = table["id"]
    bad = pc.or_(pc.is_null(ids), pc.greater(pc.utf8_length(pc.fill_null(ids, "")), LONGEST_ID))
    if pc.any(bad).as_py():
        row = pc.index(bad, True).as_py()
        trouble = "no id" if ids[row].as_py() is None else f"an id of over {LONGEST_ID} characters"
        raise UserError(f"row {start + row:,} has {trouble} in the column {columns.id!r}.")
    return pa.table({"id": ids, "text": texts})
