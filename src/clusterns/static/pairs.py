"""Pairs of related texts: a line and the next one, or the halves of a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from clusterns.data.split import select_texts
from clusterns.vectors.nearest import unit

Rows = NDArray[np.int64]

# In word pieces. Shorter lines are headings and fragments, longer ones several sentences.
MIN_LENGTH, MAX_LENGTH = 10, 80
# A text is ordered if neighbors are more similar than random lines by this many standard errors.
MIN_STANDARD_ERRORS = 5.0
PROBE_PAIRS = 2_000
# With fewer, contrastive training hurts: on 1,000 lines of Wikipedia it costs a point of STS (docs/static.md).
MIN_PAIRS = 2_000


def next_lines(lengths: NDArray[np.int32], documents: Rows | None) -> tuple[Rows, Rows]:
    """All rows that are followed by a line of the same document, and those lines."""
    order = np.arange(len(lengths))
    if documents is not None:
        order = np.argsort(documents, kind="stable")
    first, second = order[:-1], order[1:]
    fits = (lengths >= MIN_LENGTH) & (lengths <= MAX_LENGTH)
    together = fits[first] & fits[second]
    if documents is not None:
        together &= documents[first] == documents[second]
    return first[together], second[together]


def is_ordered(
    pairs: tuple[Rows, Rows], embed: Callable[[Rows], NDArray[np.float32]], seed: int
) -> bool:
    """Whether adjacent lines are more similar than random lines."""
    first, second = pairs
    random = np.random.default_rng(seed)
    if len(first) < 2:
        return False
    probe = random.permutation(len(first))[:PROBE_PAIRS]
    left, right = unit(embed(first[probe])), unit(embed(second[probe]))
    gain = (left * right).sum(axis=1) - (left * np.roll(right, 1, axis=0)).sum(axis=1)
    error = gain.std() / np.sqrt(len(gain))
    return bool(gain.mean() > MIN_STANDARD_ERRORS * error)


def halves(text: str) -> tuple[str, str]:
    """Split a text in the middle, between words if there are several."""
    words = text.split()
    if len(words) > 1:
        middle = len(words) // 2
        return " ".join(words[:middle]), " ".join(words[middle:])
    return text[: len(text) // 2], text[len(text) // 2 :]


@dataclass(frozen=True)
class ReadPairs:
    """Reads the texts of the rows ``anchor`` and ``positive``. A row paired with itself becomes its two halves."""

    texts: Sequence[str]

    def __call__(self, rows: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
        """Read the texts of pairs."""
        anchors = select_texts(self.texts, rows["anchor"])
        if list(rows["anchor"]) == list(rows["positive"]):
            cut = [halves(text) for text in anchors]
            return {"anchor": [left for left, _ in cut], "positive": [right for _, right in cut]}
        return {"anchor": anchors, "positive": select_texts(self.texts, rows["positive"])}


def pair_dataset(texts: Sequence[str], first: Rows, second: Rows) -> Dataset:
    """Dataset with the columns ``anchor`` and ``positive``: row numbers in memory, texts read per batch."""
    return Dataset.from_dict({"anchor": first, "positive": second}).with_transform(ReadPairs(texts))


def choose_pairs(
    contrast: str,
    lengths: NDArray[np.int32],
    documents: Rows | None,
    embed: Callable[[Rows], NDArray[np.float32]],
    seed: int,
) -> tuple[str, Rows, Rows]:
    """Choose the type of pairs (next, halves, none); returns it and the rows of the pairs, equal for halves.

    Args:
        contrast: the setting.
        lengths: (n,) the number of pieces of each line.
        documents: (n,) the document of each line, or None.
        embed: returns the vectors of rows, used to test whether the text is ordered.
        seed: random seed.
    """
    first, second = next_lines(lengths, documents)
    if contrast == "auto":
        contrast = "next" if is_ordered((first, second), embed, seed) else "halves"
    if contrast == "halves":
        first = second = np.flatnonzero((lengths >= MIN_LENGTH) & (lengths <= 2 * MAX_LENGTH))
    if contrast == "none" or len(first) < MIN_PAIRS:
        return "none", first[:0], first[:0]
    return contrast, first, second
