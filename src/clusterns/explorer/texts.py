"""The distinct texts of a corpus, and all rows with their locations, ids and kept columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clusterns.console import log
from clusterns.data.columns import Columns
from clusterns.data.settings import Unit
from clusterns.data.sources import describe_columns, find_sources
from clusterns.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

    from clusterns.vectors.index import Index
    from clusterns.vectors.ranking import Hit


@dataclass(frozen=True)
class Texts:
    """Distinct texts, in order of appearance, and all rows that contain them.

    Attributes:
        distinct: the texts.
        numbers: (n,) numbers of the rows (in plain text: lines) with text, from 1 over the entire corpus.
        of: (n,) index of the text of each row in ``distinct``.
        table: source, line, heading and kept columns of each row, as far as known.
        ids: the id of each row, if the rows have ids.
    """

    distinct: list[str]
    numbers: NDArray[np.int64]
    of: NDArray[np.int64]
    table: pa.Table
    ids: list[str] | None = None

    @classmethod
    def of_index(cls, index: Index) -> Texts:
        """Create from the rows of an index, including duplicate texts."""
        each = np.arange(len(index))
        ids = None if index.names is None else index.names.to_pylist()
        texts = [text or "" for text in index.texts.to_pylist()]
        return cls(texts, each + 1, each, index.rows.drop_columns(["id", "text"]), ids)

    @cached_property
    def columns(self) -> list[str]:
        """The columns that rows can be filtered by."""
        return [name for name in self.table.column_names if name != "line"]

    def having(self, where: Mapping[str, Sequence[str]]) -> NDArray[np.bool_]:
        """(texts,) whether some row of the text has one of the given values in each column."""
        found = np.zeros(len(self.distinct), dtype=bool)
        found[self.of[self._rows_having(where)]] = True
        return found

    def values(self, column: str) -> list[str | None]:
        """The value of a column for each text, from its first row."""
        _, first = np.unique(self.of, return_index=True)
        return self.table[column].take(first).to_pylist()

    def _rows_having(self, where: Mapping[str, Sequence[str]]) -> NDArray[np.bool_]:
        import pyarrow as pa
        import pyarrow.compute as pc

        chosen = np.ones(len(self.of), dtype=bool)
        for name, values in where.items():
            if name not in self.columns:
                known = ", ".join(self.columns) or "none"
                raise UserError(
                    f"--where {name}: no such column. The columns are {known}. Text that was "
                    "encoded before needs `clusterns encode --keep`."
                )
            matches = pc.is_in(self.table[name], pa.array(values, pa.string()))
            chosen &= matches.to_numpy(zero_copy_only=False)
        return chosen

    def locate(
        self, hit: Hit, where: Mapping[str, Sequence[str]] | None = None, context: int = 0
    ) -> Hit:
        """Complete a result with the location, columns and context of the first row of its text that matches."""
        rows = self.of == hit.row
        if where:
            rows &= self._rows_having(where)
        first, *others = np.flatnonzero(rows).tolist()
        values = {name: self.table[name][first].as_py() for name in self.table.column_names}
        source = values.pop("source", None)
        neighbors = range(max(0, first - context), min(first + context + 1, len(self.of)))
        around = [row for row in neighbors if self._source(row) == source]
        return replace(
            hit,
            row=int(self.numbers[first]) - 1,
            name=None if self.ids is None else self.ids[first],
            also=hit.also or tuple(self.ids[other] for other in others if self.ids),
            source=source,
            line=values.pop("line", None),
            heading=values.pop("heading", None),
            columns=values,
            before=tuple(self.distinct[self.of[row]] for row in around if row < first),
            after=tuple(self.distinct[self.of[row]] for row in around if row > first),
        )

    def place(self, row: int) -> str:
        """The location of a row, for display: its number, or file and line if the corpus has several files."""
        if not self._has_several:
            return f"{self.numbers[row]:,}"
        return f"{Path(self._source(row) or '').name}:{self.table['line'][row]}"

    @cached_property
    def _has_several(self) -> bool:
        return "source" in self.columns and len(self.table["source"].unique()) > 1

    def _source(self, row: int) -> str | None:
        return self.table["source"][row].as_py() if "source" in self.columns else None


def read_texts(
    corpus: Sequence[str],
    columns: Columns | None = None,
    max_sentences: int | None = None,
    unit: Unit = "row",
    max_words: int | None = None,
) -> Texts:
    """Read files, folders or Hub datasets without cleaning them; empty rows are skipped."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from clusterns.data.passages import MAX_WORDS, located_rows

    columns = columns or Columns()
    sources = find_sources(corpus)
    for line in describe_columns(sources, columns):
        log(line)
    batches: list[pa.RecordBatch] = []
    known: dict[str, int] = {}
    of: list[int] = []
    for batch in located_rows(sources, columns, unit=unit, max_words=max_words or MAX_WORDS):
        filled = pc.greater(pc.utf8_length(pc.utf8_trim_whitespace(batch["text"])), 0)
        batch = batch.filter(pc.fill_null(filled, False))
        if max_sentences is not None and len(of) + len(batch) > max_sentences:
            log(f"Reading only the first {max_sentences:,} sentences (--max-sentences).")
            batch = batch.slice(0, max_sentences - len(of))
        of += [known.setdefault(text, len(known)) for text in batch["text"].to_pylist()]
        batches.append(batch.drop_columns("text"))
        if len(of) == max_sentences:
            break
    if not of:
        raise UserError(f"there is no text in {', '.join(corpus)}.")
    table = pa.Table.from_batches(batches)
    ids = None if columns.id is None else [name or "" for name in table["id"].to_pylist()]
    numbers = table["number"].to_numpy()
    return Texts([*known], numbers, np.array(of), table.drop_columns(["id", "number"]), ids)


def find_places(texts: Sequence[str], reading: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """Find the file and line of sentences that were read from a corpus, as far as it still exists.

    Args:
        texts: cleaned sentences.
        reading: how the corpus was read; arguments of :func:`clusterns.data.corpus.prepare_corpus`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from clusterns.data.clean import clean
    from clusterns.data.passages import located_rows

    requested = pa.array(texts, pa.string())
    places: dict[str, tuple[str, int]] = {}
    unit: Unit = "sentence" if reading.get("split_sentences") else "row"
    try:
        sources = find_sources([str(source) for source in reading["sources"]])
        for batch in located_rows(sources, Columns(reading.get("column")), unit=unit):
            cleaned, kept, _ = clean(batch["text"], min_words=1)
            chosen = pc.is_in(cleaned, requested)
            rows = batch.filter(pa.array(kept)).filter(chosen)
            found = zip(
                cleaned.filter(chosen).to_pylist(),
                rows["source"].to_pylist(),
                rows["line"].to_pylist(),
                strict=True,
            )
            for text, source, line in found:
                places.setdefault(text, (source, line))
    except (UserError, KeyError):  # moved, or read differently
        pass
    return places
