"""The nearest others of every vector, looked for in lists around centroids.

Vectors that look into the same list do so together: one product of matrices is an order of
magnitude faster than as many dot products one after the other, and a million vectors take minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from clusterns.console import bar
from clusterns.vectors.nearest import QUERIES, Rows, Vectors, largest

TOGETHER = 65_536  # vectors that look for their neighbours at a time
FIRST = 8  # one in so many lists is looked into first


def neighbours_in_lists(
    vectors: Vectors,
    middles: Vectors,
    members: Sequence[Rows],
    probes: int,
    k: int,
    progress: bool,
) -> tuple[Vectors, Rows]:
    """The ``k`` nearest others of every vector: (n, k) dot products and rows, the best first.

    Args:
        vectors: (n, d), which may be a mapped file.
        middles: (lists, d) the centroids.
        members: the rows of each list; every row is in one of them.
        probes: lists that a vector looks into: those with the nearest centroids.
        k: how many; fewer where there are fewer, and what is not found is row -1 and -inf.
        progress: whether to show a bar.
    """
    count, k = len(vectors), min(k, len(vectors) - 1)
    scores = np.empty((count, k), dtype=np.float32)
    rows = np.empty((count, k), dtype=np.int64)
    with bar(total=count, desc="Neighbours", unit=" texts", shown=progress) as done:
        for start in range(0, count, TOGETHER):
            part = slice(start, min(start + TOGETHER, count))
            own = np.arange(part.start, part.stop)
            # One more, since each finds itself.
            best, found = _of_block(vectors, np.asarray(vectors[part]), middles, members, probes,
                                    k + 1)  # fmt: skip
            is_own = found == own[:, None]
            is_own[~is_own.any(axis=1), -1] = True
            scores[part], rows[part] = _sorted(
                best[~is_own].reshape(-1, k), found[~is_own].reshape(-1, k)
            )
            done.update(len(own))
    return scores, rows


def _of_block(
    vectors: Vectors,
    block: Vectors,
    middles: Vectors,
    members: Sequence[Rows],
    probes: int,
    k: int,
) -> tuple[Vectors, Rows]:
    """The ``k`` nearest of some vectors, themselves among them, in no order."""
    best = np.full((len(block), k), -np.inf, dtype=np.float32)
    rows = np.full((len(block), k), -1, dtype=np.int64)
    floor = best[:, 0].copy()  # the worst of each vector's best: what is not above it is no answer
    for number, asking in _askers(block, middles, probes):
        of = members[number]
        if not len(of) or not len(asking):
            continue
        found = block[asking] @ np.asarray(vectors[of]).T
        better = np.flatnonzero(found.max(axis=1) > floor[asking])
        asking = asking[better]
        both = np.concatenate([best[asking], found[better]], axis=1)
        of_both = np.concatenate([rows[asking], np.broadcast_to(of, (len(better), len(of)))], 1)
        keep = largest(both, k)
        best[asking] = np.take_along_axis(both, keep, 1)
        rows[asking] = np.take_along_axis(of_both, keep, 1)
        floor[asking] = best[asking].min(axis=1)
    return best, rows


def _askers(
    block: Vectors, middles: Vectors, probes: int
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Lists, each with the vectors of the block that look into it.

    All lists come twice: the first time for those to which they are among the very nearest. These
    raise the floor, so that most of what is found later need not be sorted in.
    """
    first = max(1, probes // FIRST)
    chosen = np.concatenate(
        [
            _nearest_last(block[start : start + QUERIES] @ middles.T, first, probes)
            for start in range(0, len(block), QUERIES)
        ]
    )
    for turn in (chosen[:, -first:], chosen[:, :-first]):
        if turn.shape[1]:
            flat = turn.ravel()
            order = np.argsort(flat, kind="stable") // turn.shape[1]
            ends = np.cumsum(np.bincount(flat, minlength=len(middles)))
            yield from enumerate(np.split(order, ends[:-1]))


def _nearest_last(scores: Vectors, first: int, probes: int) -> NDArray[np.integer]:
    """Where the ``probes`` largest of each row are, the ``first`` largest of them at the end."""
    lists = scores.shape[1]
    probes = min(probes, lists)
    ends = sorted({lists - probes, lists - first})
    found = np.argpartition(scores, ends, axis=1)[:, lists - probes :]
    # Small numbers are sorted by counting.
    return found.astype(np.uint16 if lists <= 2**16 else np.int64)


def _sorted(scores: Vectors, rows: Rows) -> tuple[Vectors, Rows]:
    """The best first; equal ones in the order of their rows."""
    order = np.lexsort((rows, -scores), axis=1)
    return np.take_along_axis(scores, order, 1), np.take_along_axis(rows, order, 1)
