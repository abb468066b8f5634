"""Near-duplicates: pairs of sentences above a threshold, and the groups that they connect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clusterns.vectors.nearest import Rows, Vectors

THRESHOLDS = (0.995, 0.99, 0.98, 0.95, 0.925, 0.9, 0.85, 0.8, 0.75, 0.7)
HARDLY_REPEATS = 100  # sentences in one group, and a tenth of all: the threshold is too low


@dataclass(frozen=True)
class Pairs:
    """Pairs of sentences, the most similar first.

    Attributes:
        first, second: (m,) rows, ``first < second``.
        cosines: (m,).
        count: sentences that there are.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    cosines: NDArray[np.float32]
    count: int

    def above(self, threshold: float) -> Pairs:
        """Those that are at least so similar."""
        chosen = self.cosines >= threshold
        return Pairs(self.first[chosen], self.second[chosen], self.cosines[chosen], self.count)

    def groups(self) -> NDArray[np.int64]:
        """(n,) the group of each sentence: the first row that pairs connect it with, or itself."""
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import connected_components

        edges = csr_matrix(
            (np.ones(len(self.first), dtype=np.int8), (self.first, self.second)),
            shape=(self.count, self.count),
        )
        _, labels = connected_components(edges, directed=False)
        _, leaders = np.unique(labels, return_index=True)
        return leaders[labels]

    def distinct(self) -> NDArray[np.bool_]:
        """(n,) whether a sentence is none of the repeats.

        A repeat is alike to an earlier sentence that is none itself. That a chain of others leads
        from one to the other is not enough: nothing goes whose like does not stay.
        """
        stays = np.zeros(self.count, dtype=bool)
        open_ = np.ones(self.count, dtype=bool)
        first, second = self.first, self.second
        while len(first):
            later = np.zeros(self.count, dtype=bool)
            later[second] = True
            now = open_ & ~later  # nobody before it is left that it could repeat
            stays |= now
            open_ &= ~now
            open_[second[stays[first]]] = False
            left = open_[first] & open_[second]
            first, second = first[left], second[left]
        return stays | open_


@dataclass(frozen=True)
class Level:
    """What a threshold would give."""

    threshold: float
    pairs: int
    groups: int
    repeats: int
    """Sentences that would go, since an earlier one that stays is alike."""
    largest: int
    """Sentences in the largest group."""


def pairs_of(cosines: Vectors, rows: Rows, least: float = -1.0) -> Pairs:
    """The pairs in a table of the (n, k) nearest neighbours of n sentences; -1 is none.

    A pair is found from either side, so that it counts where only one of the two is among the
    nearest of the other. Pairs below ``least`` are left out.
    """
    count = len(rows)
    here, at = np.nonzero((rows >= 0) & (cosines >= least))
    there, cosine = np.asarray(rows)[here, at].astype(np.int64), np.asarray(cosines)[here, at]
    first, second = np.minimum(here, there), np.maximum(here, there)
    _, once = np.unique(first * count + second, return_index=True)
    order = once[np.lexsort((second[once], first[once], -cosine[once]))]
    return Pairs(first[order], second[order], cosine[order], count)


def levels(pairs: Pairs, thresholds: tuple[float, ...]) -> list[Level]:
    """What each threshold would give."""
    found = []
    for threshold in sorted(set(thresholds), reverse=True):
        chosen = pairs.above(threshold)
        sizes = np.bincount(chosen.groups(), minlength=1)
        found.append(
            Level(
                threshold,
                pairs=len(chosen.first),
                groups=int((sizes > 1).sum()),
                repeats=int((~chosen.distinct()).sum()),
                largest=int(sizes.max()),
            )
        )
    return found


def of_lines(pairs: Pairs, rows: Sequence[int]) -> Pairs:
    """Pairs of distinct sentences as pairs of lines, and equal lines as pairs with cosine 1.

    Every line of a sentence is paired with its first one, and the first ones with each other: that
    connects them all.

    Args:
        pairs: of distinct sentences.
        rows: for each line, the row of its sentence.
    """
    of = np.asarray(rows, dtype=np.int64)
    _, first_line = np.unique(of, return_index=True)
    copies = np.flatnonzero(first_line[of] != np.arange(len(of)))
    ones = [first_line[pairs.first], first_line[pairs.second]]
    first = np.concatenate([first_line[of[copies]], np.minimum(*ones)])
    second = np.concatenate([copies, np.maximum(*ones)])
    same = np.ones(len(copies), dtype=np.float32)
    return Pairs(first, second, np.concatenate([same, pairs.cosines]), len(of))


def members(groups: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The rows of each group of at least two, the largest group first."""
    order = np.argsort(groups, kind="stable")
    _, starts = np.unique(groups[order], return_index=True)
    found = [rows for rows in np.split(order, starts[1:]) if len(rows) > 1]
    return sorted(found, key=lambda rows: (-len(rows), int(rows[0])))
