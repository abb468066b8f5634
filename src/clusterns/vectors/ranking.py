"""From the candidates of both sides of a search to its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clusterns.vectors.fusion import DEPTH, fuse, largest_first
from clusterns.vectors.hits import Hit
from clusterns.vectors.nearest import Rows, Vectors
from clusterns.vectors.settings import By

if TYPE_CHECKING:
    from clusterns.vectors.index import Index


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
        rows, sides = _candidates(index, vector, scores, depth, where)
        total = fuse(*sides.values()) if len(sides) == 2 else next(iter(sides.values()))
        order = largest_first(total, len(total)).tolist()
        groups: dict[object, list[int]] = {}  # of places with the same text
        for place in order:
            text = index.texts[int(rows[place])].as_py()
            groups.setdefault(int(rows[place]) if text is None else text, []).append(place)
        if len(groups) >= top or depth >= len(index):
            break
        depth *= 4
    return [
        _hit(index, query, rows[places], total[places[0]], {k: v[places] for k, v in sides.items()})
        for places in [*groups.values()][:top]
    ]


def _hit(index: Index, query: str, rows: Rows, score: float, sides: dict[str, Vectors]) -> Hit:
    """Rows with the same text as one result: the first of them, with the names of the others."""
    first, *others = sorted(rows.tolist())
    text = index.texts[first].as_py()
    matches = "words" in sides and sides["words"][0] > 0
    names = [None if index.names is None else index.names[row].as_py() for row in (first, *others)]
    return Hit(
        float(score),
        first,
        text,
        names[0],
        tuple(name for name in names[1:] if name is not None),
        cosine=float(sides["vectors"][0]) if "vectors" in sides else None,
        words=tuple(index.words.matches(query, text)) if matches else (),
    )


def _candidates(
    index: Index,
    vector: Vectors | None,
    scores: NDArray[np.float32] | None,
    depth: int,
    where: NDArray[np.bool_] | None,
) -> tuple[Rows, dict[str, Vectors]]:
    """The rows among the first ``depth`` of either side, and the scores of both for each of them."""
    found = []
    if vector is not None:
        _, (rows,) = index.nearest(vector[None], depth, where)
        found.append(rows[rows >= 0])
    if scores is not None:
        rows = np.flatnonzero(scores)
        found.append(rows[largest_first(scores[rows], depth)])
    rows = np.unique(np.concatenate(found))
    sides = {}
    if vector is not None:
        sides["vectors"] = np.asarray(index.vectors[rows]) @ vector
    if scores is not None:
        sides["words"] = scores[rows]
    return rows, sides
