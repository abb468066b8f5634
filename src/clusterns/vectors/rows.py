"""Read a corpus as tables with a fixed number of rows and an id for every text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sentence_transformers import SentenceTransformer

from clusterns.data.columns import Columns
from clusterns.data.in_memory import InMemorySource
from clusterns.data.passages import MAX_WORDS, PLACE, located_rows
from clusterns.data.sources import Source
from clusterns.encoder.load import length_limit
from clusterns.errors import UserError
from clusterns.vectors.settings import Unit

TOKENS_PER_WORD = 1.4  # in English passages
MAX_ID_LENGTH = 1000  # characters; a longer one is probably the text column, chosen by mistake


def tables(
    sources: Sequence[Source],
    columns: Columns,
    size: int,
    advance: Callable[[int], object] = lambda _: None,
    unit: Unit = "row",
    max_words: int = MAX_WORDS,
) -> Iterator[pa.Table]:
    """Yield every unit of the sources, ``size`` rows per table; the last one may be shorter.

    A table has the columns ``id`` (int64: the number of the row; or string), ``text`` (never null), the
    location if the sources are files or datasets, and the kept columns. It calls ``advance`` with the
    number of bytes read.
    """
    in_memory = any(isinstance(source, InMemorySource) for source in sources)
    unused = ["number", *(PLACE if in_memory else () if unit == "passage" else ("heading",))]
    pending: list[pa.RecordBatch] = []
    start = 0
    for batch in located_rows(sources, columns, advance, unit, max_words):
        batch = batch.drop_columns(unused)
        if columns.id is not None:  # an empty line between records is not a record
            empty = pc.and_(pc.is_null(batch["text"]), pc.is_null(batch["id"]))
            batch = batch.filter(pc.invert(empty))
        pending.append(batch)
        while sum(map(len, pending)) >= size:
            rows = pa.Table.from_batches(pending)
            yield _with_ids(rows.slice(0, size), columns, start)
            start += size
            pending = rows.slice(size).to_batches()
    if any(map(len, pending)):
        yield _with_ids(pa.Table.from_batches(pending), columns, start)


def max_words(model: SentenceTransformer) -> int:
    """Approximate number of words of a passage that a model reads."""
    limit = length_limit(model)
    return MAX_WORDS if limit is None else min(MAX_WORDS, int(limit / TOKENS_PER_WORD))


def _with_ids(table: pa.Table, columns: Columns, start: int) -> pa.Table:
    texts = pc.fill_null(table["text"], "")
    others = {name: table[name] for name in table.column_names if name not in ("id", "text")}
    if columns.id is None:
        return pa.table({"id": np.arange(start, start + len(texts)), "text": texts} | others)
    ids = table["id"]
    too_long = pc.greater(pc.utf8_length(pc.fill_null(ids, "")), MAX_ID_LENGTH)
    bad = pc.or_(pc.is_null(ids), too_long)
    if pc.any(bad).as_py():
        row = pc.index(bad, True).as_py()
        what = "no id" if ids[row].as_py() is None else f"an id of over {MAX_ID_LENGTH} characters"
        raise UserError(f"row {start + row:,} has {what} in the column {columns.id!r}.")
    return pa.table({"id": ids, "text": texts} | others)
