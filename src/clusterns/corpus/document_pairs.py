"""Pairs of sentences that stand next to each other in a document."""

from __future__ import annotations

import numpy as np
from datasets import Dataset, concatenate_datasets
from numpy.typing import NDArray

from clusterns.corpus.documents import documents_of
from clusterns.errors import UserError


def next_in_document(documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row the next one of its document, for the last the first; alone in it, itself.

    Args:
        documents: (n,) the document of each row, in any order.
    """
    order = np.argsort(documents, kind="stable")
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = documents[order][1:] != documents[order][:-1]
    following = np.roll(order, -1)
    following[np.roll(is_first, -1)] = order[
        is_first
    ]  # behind the last of a document stands a first one
    partners = np.empty_like(order)
    partners[order] = following
    return partners


def document_pairs(dataset: Dataset) -> Dataset:
    """Rows ``text`` with their ``document`` to as many rows ``anchor`` and ``positive``, on disk as they are."""
    documents = documents_of(dataset)
    if documents is None:
        raise UserError(
            "positives = document pairs sentences of one document, and the text has none: say what "
            "belongs together with --document, or set positives=crop."
        )
    partners = next_in_document(documents)
    if (partners == np.arange(len(partners))).all():
        raise UserError(
            "positives = document pairs sentences of one document, and every document of the text "
            "has one sentence: set positives=crop."
        )
    texts = dataset.select_columns("text")
    return concatenate_datasets(
        [
            texts.rename_column("text", "anchor"),
            texts.select(partners).rename_column("text", "positive"),
        ],
        axis=1,
    )
