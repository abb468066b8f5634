"""Texts in memory, as a source to encode."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from typing import Any

import numpy as np
import pyarrow as pa

from clusterns.data.columns import Columns
from clusterns.data.formats import ROWS
from clusterns.data.lines import BLOCK
from clusterns.errors import UserError

ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class InMemorySource:
    """Texts in memory, or in a column of a dataset, and their names if they have any.

    Build one with :meth:`of`, which checks them.
    """

    texts: Sequence[str]
    names: Sequence[str] | None = None

    @classmethod
    def of(cls, texts: Sequence[str], names: Sequence[str] | None = None) -> InMemorySource:
        """Check texts and names: strings that UTF-8 can write, a name for each text."""
        for role, values in (("text", texts), ("name", names or ())):
            for row, value in enumerate(chain.from_iterable(_pieces(values))):
                _check(role, row, value)
        if names is not None and len(names) != len(texts):
            raise UserError(
                f"{len(texts):,} texts have {len(names):,} names: give a name for each text, or "
                "none at all."
            )
        return cls(texts, names)

    @property
    def columns(self) -> Columns:
        """What to ask :meth:`rows` for."""
        return Columns("text", None if self.names is None else "name")

    @property
    def size(self) -> int:
        """Characters of the texts, for the progress bar."""
        return sum(len(text) for piece in _pieces(self.texts) for text in piece)

    def identity(self) -> str:
        """Hash the texts and names, so that no two lists of them look alike."""
        digest = hashlib.sha256()
        for column in (self.texts, self.names or ()):
            for value in chain.from_iterable(_pieces(column)):
                part = value.encode()
                digest.update(f"{len(part)} ".encode() + part)
            digest.update(b"|")
        return digest.hexdigest()

    def rows(self, columns: Columns, advance: Callable[[int], object]) -> Iterator[pa.RecordBatch]:
        """Yield texts and names in batches, and tell ``advance`` how many characters they have."""
        nothing: Iterable[list[Any]] = repeat([None] * ROWS_AT_ONCE)
        all_names = nothing if self.names is None else _pieces(self.names)
        for texts, names in zip(_pieces(self.texts), all_names, strict=False):
            # An array holds 2 GB at most, and a thousand texts may be more.
            ends = np.cumsum([len(text) for text in texts])
            edges = [0, *np.flatnonzero(np.diff(ends // BLOCK)) + 1, len(texts)]
            for start, end in pairwise(edges):
                arrays = [pa.array(values[start:end], pa.string()) for values in (texts, names)]
                yield pa.record_batch(arrays, schema=ROWS)
            advance(int(ends[-1]))


def _pieces(values: Sequence[str]) -> Iterator[list[str]]:
    """A column of a dataset reads many rows at once as fast as one."""
    for start in range(0, len(values), ROWS_AT_ONCE):
        yield list(values[start : start + ROWS_AT_ONCE])


def _check(role: str, row: int, value: str) -> None:
    if not isinstance(value, str):
        raise UserError(f"{role} {row:,} is {type(value).__name__}, not a string.")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UserError(f"{role} {row:,} is not valid Unicode ({error.reason}).") from None
