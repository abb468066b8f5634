"""Texts in memory as a source."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from clusterns.data.columns import Columns
from clusterns.data.lines import BLOCK
from clusterns.errors import UserError

ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class InMemorySource:
    """Texts in memory or in a column of a dataset, optionally with names.

    Create it with :meth:`of`, which validates the texts.
    """

    texts: Sequence[str]
    names: Sequence[str] | None = None

    @classmethod
    def of(cls, texts: Sequence[str], names: Sequence[str] | None = None) -> InMemorySource:
        """Validate texts and names: valid Unicode, and a name for each text."""
        for role, values in (("text", texts), ("name", names or ())):
            for row, value in enumerate(_values(values)):
                if not isinstance(value, str):
                    raise UserError(f"{role} {row:,} is {type(value).__name__}, not a string.")
                try:
                    value.encode()
                except UnicodeEncodeError as error:
                    raise UserError(
                        f"{role} {row:,} is not valid Unicode ({error.reason})."
                    ) from None
        if names is not None and len(names) != len(texts):
            raise UserError(
                f"{len(texts):,} texts have {len(names):,} names: pass a name for each text, or "
                "none at all."
            )
        return cls(texts, names)

    @property
    def columns(self) -> Columns:
        """The columns to pass to :meth:`rows`."""
        return Columns("text", None if self.names is None else "name")

    @property
    def size(self) -> int:
        """Number of characters, for the progress bar."""
        return sum(map(len, _values(self.texts)))

    def identity(self) -> str:
        """A hash of the texts and names."""
        digest = hashlib.sha256()
        for column in (self.texts, self.names or ()):
            for value in _values(column):
                part = value.encode()
                digest.update(f"{len(part)} ".encode() + part)
            digest.update(b"|")
        return digest.hexdigest()

    def rows(self, columns: Columns, advance: Callable[[int], object]) -> Iterator[pa.RecordBatch]:
        """Yield texts and names in batches, and call ``advance`` with their number of characters."""
        for start in range(0, len(self.texts), ROWS_AT_ONCE):
            texts = list(self.texts[start : start + ROWS_AT_ONCE])
            names = (
                [None] * len(texts)
                if self.names is None
                else self.names[start : start + ROWS_AT_ONCE]
            )
            # An array is limited to 2 GB, and a thousand texts may be larger.
            ends = np.cumsum([len(text) for text in texts])
            edges = [0, *np.flatnonzero(np.diff(ends // BLOCK)) + 1, len(texts)]
            for begin, end in pairwise(edges):
                arrays = [
                    pa.array(list(values[begin:end]), pa.string()) for values in (texts, names)
                ]
                yield pa.record_batch(arrays, ["text", "id"])
            advance(int(ends[-1]))


def _values(column: Sequence[str]) -> Iterator[str]:
    """Yield the values of a list or of a dataset column, which reads many rows as fast as one."""
    for start in range(0, len(column), ROWS_AT_ONCE):
        yield from column[start : start + ROWS_AT_ONCE]
