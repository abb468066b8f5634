"""Sentences that training never sees."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from datasets import Dataset, concatenate_datasets
from numpy.typing import NDArray

from clusterns.errors import UserError


def split_heldout(dataset: Dataset, count: int, seed: int) -> tuple[Dataset, list[str]]:
    """Keep ``count`` random rows, at most a tenth of all, out of ``dataset``.

    Where its rows belong to documents, whole documents are kept out, of ``count`` rows at most.

    Returns:
        The rows for training, and the text of the rows kept out.
    """
    rows, kept_out = split_rows(dataset, count, seed)
    return rows, list(kept_out["text"])


def split_rows(dataset: Dataset, count: int, seed: int) -> tuple[Dataset, Dataset]:
    """Do as :func:`split_heldout`, with all columns of the rows kept out.

    The rows for training are the stretches between those kept out: slices of the same file, which
    cost about a millisecond each, and nothing for each row in them.
    """
    count = min(count, len(dataset) // 10)
    random = np.random.default_rng(seed)
    if "document" in dataset.column_names:
        kept_out = _whole_documents(dataset, count, random)
    else:
        kept_out = np.sort(random.choice(len(dataset), count, replace=False))
    edges = [-1, *kept_out.tolist(), len(dataset)]
    stretches = [range(before + 1, after) for before, after in pairwise(edges)]
    rows = concatenate_datasets([dataset.select(stretch) for stretch in stretches if stretch])
    return rows, dataset.select(kept_out)


def sampled(dataset: Dataset, most: int | None, seed: int) -> Dataset:
    """At most so many random rows, in their order; of documents, whole ones for as long as they fit."""
    if most is None or len(dataset) <= most:
        return dataset
    random = np.random.default_rng(seed)
    if "document" in dataset.column_names:
        rows = _whole_documents(dataset, most, random)
    else:
        rows = np.sort(random.choice(len(dataset), most, replace=False))
    return dataset.select(rows)


def _whole_documents(
    dataset: Dataset, count: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """The rows of random documents, those that still fit into ``count`` rows."""
    numbers = dataset.with_format("numpy")["document"][:]
    _, of_row, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
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
            f"{sizes.min():,} of all {len(numbers):,} sentences, and a tenth of them may be kept out; "
            "give more documents, or none."
        )
    return np.flatnonzero(chosen[of_row])
