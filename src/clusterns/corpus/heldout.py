"""Sentences that training never sees."""

from __future__ import annotations

import numpy as np
from datasets import Dataset


def split_heldout(dataset: Dataset, count: int, seed: int) -> tuple[Dataset, list[str]]:
    """Keep ``count`` random rows, at most a tenth of all, out of ``dataset``.

    Returns:
        The rows for training, and the text of the rows kept out.
    """
    count = min(count, len(dataset) // 10)
    kept_out = np.sort(np.random.default_rng(seed).choice(len(dataset), count, replace=False))
    others = np.delete(np.arange(len(dataset)), kept_out)
    return dataset.select(others), list(dataset.select(kept_out)["text"])
