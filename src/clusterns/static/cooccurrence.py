"""Count how often two word pieces co-occur, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from clusterns.static.vocabulary import Pieces

# Limit on the number of pairs in memory; each takes eight bytes, and a merge needs twice the memory.
MAX_ENTRIES = 60_000_000


@dataclass(frozen=True)
class Counts:
    """Counts from one pass over the corpus.

    Args:
        pairs: (v, v) for a <= b, how often the pieces a and b occur within the window of each other.
        pieces: (v,) how often each piece occurs in the corpus.
        lengths: (n,) the number of pieces of each line.
    """

    pairs: csr_array
    pieces: NDArray[np.int64]
    lengths: NDArray[np.int32]


def count(
    blocks: Iterable[Pieces], size: int, window: int, max_entries: int = MAX_ENTRIES
) -> Counts:
    """Count pairs of pieces of the same line that are at most ``window`` positions apart.

    Sums of blocks are merged like the digits of a counter, so that each entry is merged a
    logarithmic number of times. Above ``max_entries``, the rarest pairs are dropped.
    """
    pieces = np.zeros(size, np.int64)
    lengths: list[NDArray[np.int32]] = []
    sums: list[tuple[int, csr_array]] = []
    for block in blocks:
        pieces += np.bincount(block.ids, minlength=size)
        lengths.append(block.lengths)
        sums.append((1, count_block(block, size, window)))
        while len(sums) > 1 and sums[-1][0] == sums[-2][0]:
            (weight, right), (_, left) = sums.pop(), sums.pop()
            sums.append((2 * weight, prune(left + right, max_entries)))
    total = csr_array((size, size), dtype=np.float32)
    while sums:
        total = prune(total + sums.pop()[1], max_entries)
    return Counts(total, pieces, np.concatenate(lengths or [np.zeros(0, np.int32)]))


def count_block(block: Pieces, size: int, window: int) -> csr_array:
    """Count the pairs in a block of lines: (v, v), with a <= b."""
    ids, lines = block.ids, block.lines
    rows, columns = [], []
    for distance in range(1, window + 1):
        same_line = lines[distance:] == lines[:-distance]
        left, right = ids[:-distance][same_line], ids[distance:][same_line]
        rows.append(np.minimum(left, right))
        columns.append(np.maximum(left, right))
    row, column = np.concatenate(rows), np.concatenate(columns)
    ones = np.ones(len(row), np.float32)
    return coo_array((ones, (row, column)), shape=(size, size)).tocsr()


def prune(pairs: csr_array, max_entries: int) -> csr_array:
    """Drop the pairs with the smallest counts until at most half of ``max_entries`` are left."""
    max_dropped = 1.0
    while pairs.nnz > max_entries or (max_dropped > 1 and pairs.nnz > max_entries // 2):
        pairs.data[pairs.data <= max_dropped] = 0
        pairs.eliminate_zeros()
        max_dropped += 1
    return pairs
