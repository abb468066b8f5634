"""Exact nearest-neighbor search, in blocks: never n x n similarities at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterns.console import bar

Vectors = NDArray[np.float32]
Rows = NDArray[np.int64]
MAX_ELEMENTS = 1 << 23  # similarities at once: 32 MB
QUERY_BLOCK = 1024  # queries at once


def unit(vectors: NDArray[Any]) -> Vectors:
    """Scale (n, d) vectors to length 1; a zero vector stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def nearest(
    queries: Vectors,
    vectors: Vectors,
    k: int,
    own: Rows | None = None,
    where: NDArray[np.bool_] | None = None,
    progress: bool = False,
) -> tuple[Vectors, Rows]:
    """The ``k`` vectors with the largest dot product for each query, best first.

    Args:
        queries: (m, d).
        vectors: (n, d); may be memory-mapped.
        k: number of results; fewer if there are fewer vectors.
        own: (m,) the row of each query among the vectors, which is excluded.
        where: (n,) mask of the vectors to search; others get a dot product of -inf. None: all.
        progress: whether to show a progress bar.

    Returns:
        (m, k) dot products and (m, k) rows.
    """
    k = min(k, len(vectors) - (own is not None))
    scores = np.empty((len(queries), k), dtype=np.float32)
    rows = np.empty((len(queries), k), dtype=np.int64)
    with bar(total=len(queries), desc="Neighbors", unit=" texts", shown=progress) as done:
        for start in range(0, len(queries), QUERY_BLOCK):
            part = slice(start, start + QUERY_BLOCK)
            few = None if own is None else own[part]
            scores[part], rows[part] = _nearest_of_few(queries[part], vectors, k, few, where)
            done.update(len(scores[part]))
    return scores, rows


def all_nearest(vectors: Vectors, k: int, progress: bool) -> tuple[Vectors, Rows]:
    """The ``k`` nearest other vectors of every vector: (n, k) dot products and (n, k) rows."""
    return nearest(vectors, vectors, k, np.arange(len(vectors)), progress=progress)


def _nearest_of_few(
    queries: Vectors,
    vectors: Vectors,
    k: int,
    own: Rows | None,
    where: NDArray[np.bool_] | None,
) -> tuple[Vectors, Rows]:
    best = np.empty((len(queries), 0), dtype=np.float32)
    rows = np.empty((len(queries), 0), dtype=np.int64)
    size = max(k, MAX_ELEMENTS // max(1, len(queries)))
    for start in range(0, len(vectors), size):
        found = queries @ vectors[start : start + size].T
        if own is not None:
            inside = np.flatnonzero((own >= start) & (own < start + found.shape[1]))
            found[inside, own[inside] - start] = -np.inf
        if where is not None:
            found[:, ~where[start : start + found.shape[1]]] = -np.inf
        few = largest(found, k)
        best = np.concatenate([best, np.take_along_axis(found, few, 1)], 1)
        rows = np.concatenate([rows, few + start], 1)
        keep = largest(best, k)
        best, rows = np.take_along_axis(best, keep, 1), np.take_along_axis(rows, keep, 1)
    return sort_best(best, rows)


def sort_best(scores: Vectors, rows: Rows) -> tuple[Vectors, Rows]:
    """Sort (m, k) results, best first; ties by row."""
    order = np.lexsort((rows, -scores), axis=1)
    return np.take_along_axis(scores, order, 1), np.take_along_axis(rows, order, 1)


def largest(scores: Vectors, k: int) -> Rows:
    """The columns of the ``k`` largest values of each row, unsorted."""
    if k >= scores.shape[1]:
        return np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    return np.argpartition(scores, -k, axis=1)[:, scores.shape[1] - k :]
