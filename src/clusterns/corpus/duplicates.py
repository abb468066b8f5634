"""Exact duplicates, remembered in a few bytes a line."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pandas.util import hash_array


def hashes(texts: pa.Array) -> NDArray[np.uint64]:
    """Hash each text to 64 bits, the same ones everywhere."""
    return hash_array(texts.to_numpy(zero_copy_only=False), categorize=False)


class SeenTexts:
    """The 64-bit hashes of all texts so far: 8 bytes a text, at most some 20 while runs are merged.

    They live in sorted runs, each more than twice as long as the next, as in a log-structured merge
    tree: a batch is looked up in a few runs, and a hash is moved only a few times in its life.
    Two different texts share a hash with a chance of 1 in 100,000 over 20 million lines.
    """

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def add(self, texts: pa.Array) -> NDArray[np.bool_]:
        """Remember ``texts``; true for each one that was not there before, neither here nor above."""
        hashed = hashes(texts)
        distinct, first = np.unique(hashed, return_index=True)
        new = np.ones(len(distinct), dtype=bool)
        for run in self._runs:
            nearest = np.minimum(np.searchsorted(run, distinct), len(run) - 1)
            new &= run[nearest] != distinct
        if new.any():
            self._append(distinct[new])
        is_new = np.zeros(len(hashed), dtype=bool)
        is_new[first[new]] = True
        return is_new

    def _append(self, run: NDArray[np.uint64]) -> None:
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            run = np.concatenate([self._runs.pop(), run])
            run.sort(kind="stable")  # merges two sorted halves in linear time
        self._runs.append(run)
