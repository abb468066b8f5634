"""Near-duplicates: pairs of sentences above a threshold, and the groups that they connect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clusterns.explorer.same_words import Words, share_words
from clusterns.explorer.texts import Texts

if TYPE_CHECKING:
    from clusterns.vectors.nearest import Rows, Vectors

THRESHOLDS = (0.995, 0.99, 0.98, 0.95, 0.925, 0.9, 0.85, 0.8, 0.75, 0.7)
LARGE_GROUP = (
    100  # a group of this many sentences, and a tenth of all, means that the threshold is too low
)


@dataclass(frozen=True)
class Pairs:
    """Pairs of sentences, most similar first.

    Attributes:
        first, second: (m,) rows, ``first < second``.
        cosines: (m,).
        count: total number of sentences.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    cosines: NDArray[np.float32]
    count: int

    def above(self, threshold: float) -> Pairs:
        """The pairs with at least this cosine."""
        return self.where(self.cosines >= threshold)

    def where(self, chosen: NDArray[np.bool_]) -> Pairs:
        """Some of the pairs."""
        return Pairs(self.first[chosen], self.second[chosen], self.cosines[chosen], self.count)

    def groups(self) -> NDArray[np.int64]:
        """(n,) the group of each sentence: the first row that pairs connect it to, or itself."""
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import connected_components

        edges = csr_matrix(
            (np.ones(len(self.first), dtype=np.int8), (self.first, self.second)),
            shape=(self.count, self.count),
        )
        _, labels = connected_components(edges, directed=False)
        _, leaders = np.unique(labels, return_index=True)
        return leaders[labels]

    def kept(self) -> NDArray[np.bool_]:
        """(n,) whether a sentence is kept.

        A sentence is removed only if it pairs with an earlier one that is kept. A connection through
        other sentences is not enough.
        """
        kept = np.zeros(self.count, dtype=bool)
        undecided = np.ones(self.count, dtype=bool)
        first, second = self.first, self.second
        while len(first):
            later = np.zeros(self.count, dtype=bool)
            later[second] = True
            now = undecided & ~later  # has no undecided earlier duplicate
            kept |= now
            undecided &= ~now
            undecided[second[kept[first]]] = False
            left = undecided[first] & undecided[second]
            first, second = first[left], second[left]
        return kept | undecided


@dataclass(frozen=True)
class Level:
    """The effect of a threshold."""

    threshold: float
    pairs: int
    groups: int
    removed: int
    """Sentences that would be removed: they pair with an earlier one that is kept."""
    largest: int
    """Sentences in the largest group."""


@dataclass(frozen=True)
class Duplicates:
    """The near-duplicates among the rows of a corpus.

    Attributes:
        rows: the rows.
        threshold: minimum cosine.
        candidates: pairs of rows at the lowest threshold considered.
    """

    rows: Texts
    threshold: float
    candidates: Pairs

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs of near-duplicates."""
        return self.candidates.above(self.threshold)

    @cached_property
    def groups(self) -> list[NDArray[np.int64]]:
        """The groups that pairs connect, largest first."""
        return group_rows(self.pairs.groups())

    @cached_property
    def kept(self) -> NDArray[np.bool_]:
        """(n,) whether a row is kept."""
        return self.pairs.kept()

    @cached_property
    def levels(self) -> list[Level]:
        """The effect of other thresholds."""
        return levels(self.candidates, (*THRESHOLDS, self.threshold))

    def text(self, row: int | np.integer) -> str:
        """The text of a row."""
        return self.rows.distinct[self.rows.of[row]]


def find_pairs(cosines: Vectors, rows: Rows, min_cosine: float = -1.0) -> Pairs:
    """The pairs with a cosine of at least ``min_cosine`` in a table of (n, k) neighbors; row -1 means none.

    One of the two has to be among the neighbors of the other.
    """
    count = len(rows)
    here, at = np.nonzero((rows >= 0) & (cosines >= min_cosine))
    there, cosine = np.asarray(rows)[here, at].astype(np.int64), np.asarray(cosines)[here, at]
    first, second = np.minimum(here, there), np.maximum(here, there)
    _, once = np.unique(first * count + second, return_index=True)
    order = once[np.lexsort((second[once], first[once], -cosine[once]))]
    return Pairs(first[order], second[order], cosine[order], count)


def with_same_words(pairs: Pairs, texts: Sequence[str]) -> Pairs:
    """The pairs whose texts share their words."""
    known: dict[int, Words] = {}

    def words(row: int) -> Words:
        if row not in known:
            known[row] = Words.of(texts[row])
        return known[row]

    rows = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
    same = [share_words(words(first), words(second)) for first, second in rows]
    return pairs.where(np.array(same, dtype=bool))


def line_pairs(pairs: Pairs, rows: Sequence[int] | NDArray[np.int64]) -> Pairs:
    """Convert pairs of distinct texts to pairs of lines; lines with the same text pair with cosine 1.

    Each line pairs with the first line of its text, and first lines pair with each other, so that all are
    connected.

    Args:
        pairs: pairs of distinct texts.
        rows: the text of each line.
    """
    of = np.asarray(rows, dtype=np.int64)
    _, first_line = np.unique(of, return_index=True)
    copies = np.flatnonzero(first_line[of] != np.arange(len(of)))
    lines = [first_line[pairs.first], first_line[pairs.second]]
    first = np.concatenate([first_line[of[copies]], np.minimum(*lines)])
    second = np.concatenate([copies, np.maximum(*lines)])
    same = np.ones(len(copies), dtype=np.float32)
    return Pairs(first, second, np.concatenate([same, pairs.cosines]), len(of))


def levels(pairs: Pairs, thresholds: Sequence[float]) -> list[Level]:
    """Compute the effect of each threshold, highest first."""
    found = []
    for threshold in sorted(set(thresholds), reverse=True):
        chosen = pairs.above(threshold)
        sizes = np.bincount(chosen.groups(), minlength=1)
        found.append(
            Level(
                threshold,
                pairs=len(chosen.first),
                groups=int((sizes > 1).sum()),
                removed=int((~chosen.kept()).sum()),
                largest=int(sizes.max()),
            )
        )
    return found


def group_rows(groups: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The rows of each group of at least two, largest first."""
    order = np.argsort(groups, kind="stable")
    _, starts = np.unique(groups[order], return_index=True)
    found = [rows for rows in np.split(order, starts[1:]) if len(rows) > 1]
    return sorted(found, key=lambda rows: (-len(rows), int(rows[0])))
