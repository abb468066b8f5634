"""Held-out sentences, samples and selections of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clusterns.errors import UserError

if TYPE_CHECKING:
    from datasets import Dataset

# Of a text, at most this much is kept out of training.
FRACTION = 0.1


def split_heldout(dataset: Dataset, count: int, seed: int) -> tuple[Dataset, list[str]]:
    """Keep ``count`` random rows, at most a tenth of all, out of ``dataset``.

    Where its rows belong to documents, whole documents are kept out, of ``count`` rows at most.

    Returns:
        The rows for training, and the text of the rows kept out.
    """
    rows, kept_out = split_rows(dataset, count, seed)
    return rows, list(kept_out["text"])


def split_rows(
    dataset: Dataset, count: int, seed: int, fraction: float = FRACTION
) -> tuple[Dataset, Dataset]:
    """Do as :func:`split_heldout`, with all columns of the rows kept out, at most this fraction of all.

    The rows for training are the stretches between those kept out: slices of the same file, which
    cost about a millisecond each, and nothing for each row in them.
    """
    from datasets import concatenate_datasets

    kept_out = _kept_out(dataset, count, seed, fraction)
    edges = [-1, *kept_out.tolist(), len(dataset)]
    stretches = [range(before + 1, after) for before, after in pairwise(edges)]
    rows = concatenate_datasets([dataset.select(stretch) for stretch in stretches if stretch])
    return rows, dataset.select(kept_out)


def heldout_sentences(
    dataset: Dataset, count: int, seed: int, fraction: float = FRACTION
) -> list[str]:
    """Only what :func:`split_heldout` keeps out, in a moment: the slices for training cost most."""
    return list(dataset.select(_kept_out(dataset, count, seed, fraction))["text"])


def subsample(dataset: Dataset, most: int | None, seed: int) -> Dataset:
    """At most so many random rows, in their order; of documents, whole ones for as long as they fit."""
    if most is None or len(dataset) <= most:
        return dataset
    return dataset.select(_drawn(dataset, most, seed))


def _kept_out(dataset: Dataset, count: int, seed: int, fraction: float) -> NDArray[np.int64]:
    """The numbers of the rows, sorted."""
    return _drawn(dataset, min(count, int(len(dataset) * fraction)), seed)


def _drawn(dataset: Dataset, count: int, seed: int) -> NDArray[np.int64]:
    from clusterns.data.documents import documents_of

    random = np.random.default_rng(seed)
    documents = documents_of(dataset)
    if documents is not None:
        return _whole_documents(documents, count, random)
    return np.sort(random.choice(len(dataset), count, replace=False))


def _whole_documents(
    documents: NDArray[np.int64], count: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """The rows of random documents, those that still fit into ``count`` rows."""
    _, of_row, sizes = np.unique(documents, return_inverse=True, return_counts=True)
    chosen = np.zeros(len(sizes), dtype=bool)
    for document in random.permutation(len(sizes)):
        if sizes[document] <= count:
            chosen[document] = True
            count -= sizes[document]
        if count == 0:
            break
    if count and not chosen.any():
        raise UserError(
            f"no document can be kept out of training: the smallest of {len(sizes):,} has "
            f"{sizes.min():,} of all {len(documents):,} sentences, and a tenth of them may be kept out; "
            "give more documents, or none."
        )
    return np.flatnonzero(chosen[of_row])


def evenly_spaced(total: int, most: int) -> list[int]:
    """At most ``most`` of ``total`` rows, spread over all of them."""
    if total <= most:
        return list(range(total))
    return [i * total // most for i in range(most)]


def select_texts(texts: Sequence[str], rows: Iterable[int]) -> list[str]:
    """The texts of these rows, in their order.

    A column on disk opens its table anew for each call, which takes tens of milliseconds where the
    corpus is large, and takes many rows at once.
    """
    chosen = list(rows)
    if isinstance(texts, list | tuple):
        return [texts[row] for row in chosen]
    return list(texts[chosen])  # type: ignore[call-overload] # a column of the datasets library
