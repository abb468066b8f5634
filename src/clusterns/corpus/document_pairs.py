"""Pairs of neighbouring sentences of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from clusterns.corpus.columns import NO_DOCUMENTS_TO_PAIR
from clusterns.corpus.documents import documents_of
from clusterns.corpus.taken import taken
from clusterns.errors import UserError

Rows = NDArray[np.int64]


def two_by_two(documents: Rows) -> tuple[Rows, Rows]:
    """The rows of each document in pairs: the first with the second, the third with the fourth.

    One that is left over stands with itself. No row is in two pairs: else a sentence that is the
    positive of one pair could be its own negative as the anchor of another.

    Args:
        documents: (n,) the document of each row, in any order.

    Returns:
        (m,) rows and (m,) their partners.
    """
    order = np.argsort(documents, kind="stable")
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = documents[order][1:] != documents[order][:-1]
    places = np.arange(len(order))
    in_document = places - np.maximum.accumulate(np.where(begins, places, 0))
    first = np.flatnonzero(in_document % 2 == 0)
    has_partner = np.append(in_document, 0)[first + 1] % 2 == 1
    return order[first], order[first + has_partner]


def document_pairs(dataset: Dataset) -> Dataset:
    """Rows ``text`` with their ``document`` to rows ``anchor`` and ``positive``.

    They hold numbers only, in memory; the texts are read from where they are when a row is asked for.
    """
    documents = documents_of(dataset)
    if documents is None:
        raise UserError(NO_DOCUMENTS_TO_PAIR)
    rows, partners = two_by_two(documents)
    if (rows == partners).all():
        raise UserError(
            "positives = document pairs sentences of one document, and every document of the text "
            "has one sentence: set positives=crop."
        )
    pairs = Dataset.from_dict({"anchor": rows, "positive": partners})
    return pairs.with_transform(_Read(dataset["text"]))


@dataclass(frozen=True)
class _Read:
    """The texts that numbers stand for."""

    texts: Sequence[str]

    def __call__(self, rows: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
        """Read some rows."""
        return {name: taken(self.texts, numbers) for name, numbers in rows.items()}
