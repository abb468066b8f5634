"""Negations computed once and kept in a file, from which a batch looks them up."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from clusterns.console import bar
from clusterns.errors import UserError
from clusterns.files import atomic_file

CHUNK = 10_000

Negate = Callable[[Iterable[str]], Iterable[str]]


def keep_negations(
    path: Path, sentences: Sequence[str], negate: Negate, *, quiet: bool = False
) -> None:
    """Write the negation of each distinct sentence to ``path``, sorted by the sentences' digests.

    Args:
        path: an Arrow file; where there is one, it stays as it is.
        sentences: the corpus.
        negate: gives the negations of many sentences in their order.
        quiet: no progress bar.
    """
    if path.is_file():
        return
    digests = np.fromiter((_digest(s) for s in sentences), dtype=np.uint64, count=len(sentences))
    kept, rows = np.unique(digests, return_index=True)
    schema = pa.schema([("digest", pa.uint64()), ("negation", pa.string())])
    distinct = (sentences[int(row)] for row in rows)
    shown = bar(distinct, desc="Negate", total=len(rows), unit="sentence", shown=not quiet)
    negations = iter(negate(shown))
    with atomic_file(path) as temporary, pa.ipc.new_file(str(temporary), schema) as file:
        for start in range(0, len(kept), CHUNK):
            few = kept[start : start + CHUNK]
            file.write(pa.record_batch([pa.array(few), _taken(negations, len(few))], schema=schema))


def _taken(texts: Iterator[str], count: int) -> pa.Array:
    return pa.array([next(texts) for _ in range(count)], pa.string())


class KeptNegations:
    """Looks negations up in the file of :func:`keep_negations`, which stays on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        self.digests = table["digest"].to_numpy()
        self.negations = table["negation"]

    def __call__(self, text: str) -> str:
        """The negation of a sentence of the corpus."""
        digest = np.uint64(_digest(text))
        row = int(np.searchsorted(self.digests, digest))
        if row == len(self.digests) or self.digests[row] != digest:
            raise UserError(
                f"{self.path} has no negation of {text[:80]!r}: it was made from another text. "
                "Remove it to have it made anew."
            )
        return str(self.negations[row].as_py())


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
