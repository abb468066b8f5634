"""Which document a sentence belongs to, as a number, and pairs of neighbors within documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset
from numpy.typing import NDArray

from clusterns.data.clean import hashes
from clusterns.data.columns import NO_DOCUMENTS_TO_PAIR
from clusterns.data.split import select_texts
from clusterns.errors import UserError

Rows = NDArray[np.int64]

# The lines of a text file are counted in so many bits; those above count the files.
LINE_BITS = 40


class LineDocuments:
    """Numbers the documents of one text file, block after block.

    Args:
        kind: ``paragraph`` (blank lines stand between documents), ``line`` or ``file``.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._number = 0

    def of(self, lines: pa.Array) -> pa.Array:
        """Number the documents of the next lines of the file, from 0."""
        if self._kind == "paragraph":
            begins = pc.equal(pc.utf8_trim_whitespace(lines), "").to_numpy(zero_copy_only=False)
        else:
            begins = np.full(len(lines), self._kind == "line")
        numbers = self._number + np.cumsum(begins, dtype=np.int64)
        self._number = int(numbers[-1])
        return pa.array(numbers)


def document_numbers(names: pa.Array) -> pa.Array:
    """Turn names of documents into numbers: the same name gives the same number in every file.

    They are hashes of 62 bits, so that nothing grows with the number of documents.
    """
    numbers = (hashes(pc.fill_null(names, "")) >> np.uint64(2)).astype(np.int64)
    missing = pc.fill_null(pc.equal(names, ""), True).to_numpy(zero_copy_only=False)
    return pa.array(numbers, mask=missing)


class Documents:
    """Numbers the documents of a corpus, source after source."""

    def __init__(self) -> None:
        self._sources = self._offset = self._alone = 0

    def next_source(self, plain: bool) -> None:
        """Begin a source; in plain text, which counts its own documents, they are new ones."""
        self._offset = self._sources << LINE_BITS if plain else 0
        self._sources += 1

    def of(self, numbers: pa.Array) -> pa.Array:
        """Number the next rows; one without a document is a document of its own, below zero."""
        found = pc.fill_null(numbers, 0).to_numpy() + self._offset
        alone = numbers.is_null().to_numpy(zero_copy_only=False)
        count = int(alone.sum())
        found[alone] = -1 - np.arange(self._alone, self._alone + count)
        self._alone += count
        return pa.array(found)


def documents_of(dataset: Dataset) -> NDArray[np.int64] | None:
    """The number of the document of each row; None where the corpus does not say."""
    if "document" not in dataset.column_names:
        return None
    return np.asarray(dataset.with_format("numpy")["document"][:], np.int64)


def pair_adjacent(documents: Rows) -> tuple[Rows, Rows]:
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
    rows, partners = pair_adjacent(documents)
    if (rows == partners).all():
        raise UserError(
            "positives = document pairs sentences of one document, and every document of the text "
            "has one sentence: set positives=crop."
        )
    pairs = Dataset.from_dict({"anchor": rows, "positive": partners})
    return pairs.with_transform(partial(_read, dataset["text"]))


def _read(texts: Sequence[str], rows: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
    """The texts that numbers stand for."""
    return {name: select_texts(texts, numbers) for name, numbers in rows.items()}
