"""Pairs of texts that belong together: a line and the next one, or the halves of a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from clusterns.data.split import select_texts
from clusterns.vectors.nearest import unit

Rows = NDArray[np.int64]

# Shorter lines are headings and fragments, longer ones several sentences.
SHORTEST, LONGEST = 10, 80
# A text has an order if neighbors are more similar than random lines by this many standard errors.
MIN_STANDARD_ERRORS = 5.0
PROBE_PAIRS = 2_000
# With fewer, the contrast does harm: on 1,000 lines of Wikipedia it costs a point of STS (docs/static.md).
FEWEST_PAIRS = 2_000


def next_lines(lengths: NDArray[np.int32], documents: Rows | None) -> tuple[Rows, Rows]:
    """All rows that are followed by a line of the same document, and those lines."""
    order = np.arange(len(lengths))
    if documents is not None:
        order = np.argsort(documents, kind="stable")
    first, second = order[:-1], order[1:]
    fits = (lengths >= SHORTEST) & (lengths <= LONGEST)
    together = fits[first] & fits[second]
    if documents is not None:
        together &= documents[first] == documents[second]
    return first[together], second[together]


def is_ordered(
    pairs: tuple[Rows, Rows], embed: Callable[[Rows], NDArray[np.float32]], seed: int
) -> bool:
    """Whether a line and the next one are more alike than two random lines."""
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
    """A text cut in the middle, between words where it has any."""
    words = text.split()
    if len(words) > 1:
        middle = len(words) // 2
        return " ".join(words[:middle]), " ".join(words[middle:])
    return text[: len(text) // 2], text[len(text) // 2 :]


@dataclass(frozen=True)
class ReadPairs:
    """Reads the texts of rows ``anchor`` and ``positive``. A pair of a row with itself becomes its two halves."""

    texts: Sequence[str]

    def __call__(self, rows: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
        """Read some pairs."""
        anchors = select_texts(self.texts, rows["anchor"])
        if list(rows["anchor"]) == list(rows["positive"]):
            cut = [halves(text) for text in anchors]
            return {"anchor": [left for left, _ in cut], "positive": [right for _, right in cut]}
        return {"anchor": anchors, "positive": select_texts(self.texts, rows["positive"])}


def pair_dataset(texts: Sequence[str], first: Rows, second: Rows) -> Dataset:
    """Rows ``anchor`` and ``positive``: numbers in memory, texts read when a batch needs them."""
    return Dataset.from_dict({"anchor": first, "positive": second}).with_transform(ReadPairs(texts))


def choose_pairs(
    contrast: str,
    lengths: NDArray[np.int32],
    documents: Rows | None,
    embed: Callable[[Rows], NDArray[np.float32]],
    seed: int,
) -> tuple[str, Rows, Rows]:
    """What the pairs are (next, halves, none), and their rows; for halves, both rows of a pair are the same.

    Args:
        contrast: the setting.
        lengths: (n,) the number of pieces of each line.
        documents: (n,) the document of each line, or None.
        embed: returns the vectors of some rows, which tell whether the text has an order.
        seed: random seed.
    """
    first, second = next_lines(lengths, documents)
    if contrast == "auto":
        contrast = "next" if is_ordered((first, second), embed, seed) else "halves"
    if contrast == "halves":
        first = second = np.flatnonzero((lengths >= SHORTEST) & (lengths <= 2 * LONGEST))
    if contrast == "none" or len(first) < FEWEST_PAIRS:
        return "none", first[:0], first[:0]
    return contrast, first, second
