"""Sentences that training never sees."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from datasets import Dataset, concatenate_datasets


def split_heldout(dataset: Dataset, count: int, seed: int) -> tuple[Dataset, list[str]]:
    """Keep ``count`` random rows, at most a tenth of all, out of ``dataset``.

    The rows for training are the stretches between those kept out: slices of the same file, which
    cost about a millisecond each, and nothing for each row in them.

    Returns:
        The rows for training, and the text of the rows kept out.
    """
    count = min(count, len(dataset) // 10)
    kept_out = np.sort(np.random.default_rng(seed).choice(len(dataset), count, replace=False))
    edges = [-1, *kept_out.tolist(), len(dataset)]
    stretches = [range(before + 1, after) for before, after in pairwise(edges)]
    rows = concatenate_datasets([dataset.select(stretch) for stretch in stretches if stretch])
    return rows, list(dataset.select(kept_out)["text"])
