"""Rank the results of one query: combine the best by vectors and the best by words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clusterns.vectors.nearest import Rows, Vectors
from clusterns.vectors.settings import By

if TYPE_CHECKING:
    from clusterns.vectors.index import Index

DEPTH = 100  # results of each side to combine


@dataclass(frozen=True)
class Hit:
    """One result."""

    score: float
    """Cosine (by vectors), BM25 score (by words), or the mean of the two scaled to 0-1 (by both)."""
    row: int
    """Row in the index or the corpus, from 0."""
    text: str | None
    """None if the folder holds no texts."""
    name: str | None
    """Id, if the texts have ids."""
    also: tuple[str, ...] = ()
    """Names of other rows with the same text."""
    cosine: float | None = None
    """Cosine of query and text; None in a search by words."""
    words: tuple[str, ...] = ()
    """Words of the text that match the query; empty in a search by vectors."""
    source: str | None = None
    """File or dataset that the text is from."""
    line: int | None = None
    """Line of a text file, or row of a table without its header, from 1."""
    heading: str | None = None
    """Heading of the section that the text is in."""
    columns: Mapping[str, str | None] = field(default_factory=dict)
    """Kept columns."""
    before: tuple[str, ...] = ()
    """Texts before it, if requested."""
    after: tuple[str, ...] = ()
    """Texts after it, if requested."""
    query: str | None = None
    """The query, if there were several."""


def rank(
    index: Index,
    query: str,
    vector: Vectors | None,
    top: int,
    by: By,
    where: NDArray[np.bool_] | None,
) -> list[Hit]:
    """The ``top`` results of one query: see :meth:`Index.search`."""
    scores = None if by == "vectors" else index.words.scores(query)
    if scores is not None and where is not None:
        scores[~where] = 0
    depth = max(top, DEPTH)
    while True:
        rows = _candidates(index, vector, scores, depth, where)
        cosines = None if vector is None else np.asarray(index.vectors[rows]) @ vector
        words = None if scores is None else scores[rows]
        sides = [side for side in (cosines, words) if side is not None]
        total = fuse(*sides) if len(sides) == 2 else sides[0]
        groups: dict[object, list[int]] = {}  # the candidates of each text, best first
        for at in largest_first(total, len(total)).tolist():
            text = index.texts[int(rows[at])].as_py()
            groups.setdefault(int(rows[at]) if text is None else text, []).append(at)
        if len(groups) >= top or depth >= len(index):
            break
        depth *= 4
    hits = []
    for best, *others in [*groups.values()][:top]:
        first, *same = sorted(rows[[best, *others]].tolist())
        text = index.texts[first].as_py()
        matched = words is not None and words[best] > 0
        hits.append(
            Hit(
                float(total[best]),
                first,
                text,
                None if index.names is None else index.names[first].as_py(),
                () if index.names is None else tuple(index.names[row].as_py() for row in same),
                cosine=None if cosines is None else float(cosines[best]),
                words=tuple(index.words.matches(query, text)) if matched else (),
            )
        )
    return hits


def _candidates(
    index: Index,
    vector: Vectors | None,
    scores: NDArray[np.float32] | None,
    depth: int,
    where: NDArray[np.bool_] | None,
) -> Rows:
    """The rows in the first ``depth`` results of either side."""
    found = []
    if vector is not None:
        _, (rows,) = index.nearest(vector[None], depth, where)
        found.append(rows[rows >= 0])
    if scores is not None:
        rows = np.flatnonzero(scores)
        found.append(rows[largest_first(scores[rows], depth)])
    return np.unique(np.concatenate(found))


def largest_first(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """The positions of the ``k`` highest of (n,) scores, best first; ties keep their order."""
    k = min(k, len(scores))
    if k == 0:
        return np.zeros(0, dtype=np.int64)
    # Include all ties with the k-th score, so that ties are broken by position alone.
    threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
    found = np.flatnonzero(scores >= threshold)
    return found[np.argsort(-scores[found], kind="stable")][:k]


def fuse(*sides: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale each side's (n,) scores of the same candidates to 0-1 and average them.

    Unlike reciprocal rank fusion, this keeps the score differences within a list. A side that gives
    all candidates the same score adds nothing.
    """
    return np.mean([_scaled(scores) for scores in sides], axis=0)


def _scaled(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    low, high = scores.min(initial=np.inf), scores.max(initial=-np.inf)
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)
