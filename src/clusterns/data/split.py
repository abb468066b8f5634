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

# Maximum fraction of a text that is held out of training.
FRACTION = 0.1


def split_rows(
    dataset: Dataset, count: int, seed: int, fraction: float = FRACTION
) -> tuple[Dataset, Dataset]:
    """Hold out ``count`` random rows, but at most ``fraction`` of all rows.

    If the rows belong to documents, complete documents with at most ``count`` rows in total are held out. The training
    rows are slices of the same file between held-out rows. A slice costs about a millisecond, whatever its length.

    Returns:
        the training rows and the held-out rows.
    """
    from datasets import concatenate_datasets

    heldout = _heldout_rows(dataset, count, seed, fraction)
    edges = [-1, *heldout.tolist(), len(dataset)]
    stretches = [range(before + 1, after) for before, after in pairwise(edges)]
    rows = concatenate_datasets([dataset.select(stretch) for stretch in stretches if stretch])
    return rows, dataset.select(heldout)


def heldout_sentences(
    dataset: Dataset, count: int, seed: int, fraction: float = FRACTION
) -> list[str]:
    """Only the text that :func:`split_rows` holds out, without building the slow training slices."""
    return list(dataset.select(_heldout_rows(dataset, count, seed, fraction))["text"])


def subsample(dataset: Dataset, max_rows: int | None, seed: int) -> Dataset:
    """At most ``max_rows`` random rows, in order; of documents, as many complete ones as fit."""
    if max_rows is None or len(dataset) <= max_rows:
        return dataset
    return dataset.select(_sample(dataset, max_rows, seed))


def _heldout_rows(dataset: Dataset, count: int, seed: int, fraction: float) -> NDArray[np.int64]:
    """Sorted numbers of the rows to hold out."""
    return _sample(dataset, min(count, int(len(dataset) * fraction)), seed)


def _sample(dataset: Dataset, count: int, seed: int) -> NDArray[np.int64]:
    from clusterns.data.documents import documents_of

    random = np.random.default_rng(seed)
    documents = documents_of(dataset)
    if documents is not None:
        return _complete_documents(documents, count, random)
    return np.sort(random.choice(len(dataset), count, replace=False))


def _complete_documents(
    documents: NDArray[np.int64], count: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """The rows of random documents, as many documents as fit into ``count`` rows."""
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
            f"cannot hold out a document: the smallest of {len(sizes):,} documents has {sizes.min():,} of the "
            f"{len(documents):,} sentences, but at most a tenth may be held out. Add documents, or train "
            "without --document."
        )
    return np.flatnonzero(chosen[of_row])


def evenly_spaced(total: int, count: int) -> list[int]:
    """``count`` of ``total`` row numbers, evenly spaced; all if there are fewer."""
    if total <= count:
        return list(range(total))
    return [i * total // count for i in range(count)]


def select_texts(texts: Sequence[str], rows: Iterable[int]) -> list[str]:
    """The texts of these rows, in order.

    A column on disk reopens its table at each call, which takes tens of milliseconds in a large corpus, so all rows
    are read in one call.
    """
    chosen = list(rows)
    if isinstance(texts, list | tuple):
        return [texts[row] for row in chosen]
    return list(texts[chosen])  # type: ignore[call-overload] # a Column of the datasets library
