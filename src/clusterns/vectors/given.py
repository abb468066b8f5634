"""Texts that a program has in memory, as a source to encode."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from clusterns.corpus.columns import Columns
from clusterns.corpus.formats import ROWS

BATCH = 8192


@dataclass(frozen=True)
class GivenTexts:
    """Texts and, where they have any, their names."""

    texts: pa.ChunkedArray
    names: pa.ChunkedArray | None = None

    @classmethod
    def of(cls, texts: Sequence[str], names: Sequence[str] | None = None) -> GivenTexts:
        """Take texts and names of any kind of sequence, a column of a dataset among them."""
        assert names is None or len(names) == len(texts), "a name for each text"
        return cls(_column(texts), None if names is None else _column(names))

    @property
    def columns(self) -> Columns:
        """What to ask :meth:`rows` for."""
        return Columns("text", None if self.names is None else "name")

    @property
    def size(self) -> int:
        """Bytes of the texts, for the progress bar."""
        return pc.sum(pc.binary_length(self.texts)).as_py() or 0

    def identity(self) -> str:
        """Hash the texts and names, so that no two lists of them look alike."""
        digest = hashlib.sha256()
        for column in (self.texts, self.names):
            for value in [] if column is None else column.to_pylist():
                part = value.encode()
                digest.update(f"{len(part)} ".encode() + part)
            digest.update(b"|")
        return digest.hexdigest()

    def rows(self, columns: Columns, advance: Callable[[int], object]) -> Iterator[pa.RecordBatch]:
        """Yield texts and names in batches, and tell ``advance`` how many bytes they have."""
        for start in range(0, len(self.texts), BATCH):
            texts = self.texts.slice(start, BATCH).combine_chunks()
            names = (
                pa.nulls(len(texts), pa.string())
                if self.names is None
                else self.names.slice(start, BATCH).combine_chunks()
            )
            yield pa.record_batch([texts, names], schema=ROWS)
            advance(pc.sum(pc.binary_length(texts)).as_py() or 0)


def _column(values: Sequence[str]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(list(values), pa.string())])
