"""Document numbers, and pairs of adjacent sentences of a document."""

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

# The low bits number the documents of a text file; the bits above number the files.
DOCUMENT_BITS = 40


def line_documents(lines: pa.Array, kind: str, last: int) -> pa.Array:
    """Number the documents of the next lines of a text file.

    Args:
        lines: one block of the file.
        kind: ``paragraph`` (blank lines separate documents), ``line`` or ``file``.
        last: the number of the last document in the lines before, 0 at first.
    """
    if kind == "paragraph":
        begins = pc.equal(pc.utf8_trim_whitespace(lines), "").to_numpy(zero_copy_only=False)
    else:
        begins = np.full(len(lines), kind == "line")
    return pa.array(last + np.cumsum(begins, dtype=np.int64))


def document_numbers(names: pa.Array) -> pa.Array:
    """Turn document names into numbers: the same name gives the same number in every file.

    The numbers are 62-bit hashes, so memory does not grow with the number of documents.
    """
    numbers = (hashes(pc.fill_null(names, "")) >> np.uint64(2)).astype(np.int64)
    missing = pc.fill_null(pc.equal(names, ""), True).to_numpy(zero_copy_only=False)
    return pa.array(numbers, mask=missing)


def corpus_documents(numbers: pa.Array, source: int | None, alone: int) -> tuple[pa.Array, int]:
    """Number the documents of the next rows within the whole corpus.

    Args:
        numbers: document numbers of the source; a row without one is its own document, with a negative number.
        source: number of the text file, which numbers its own documents; None for a table.
        alone: number of rows without a document so far.

    Returns:
        the numbers, and the updated ``alone``.
    """
    found = pc.fill_null(numbers, 0).to_numpy() + (0 if source is None else source << DOCUMENT_BITS)
    missing = numbers.is_null().to_numpy(zero_copy_only=False)
    count = alone + int(missing.sum())
    found[missing] = -1 - np.arange(alone, count)
    return pa.array(found), count


def documents_of(dataset: Dataset) -> NDArray[np.int64] | None:
    """The document number of each row; None if the corpus has no documents."""
    if "document" not in dataset.column_names:
        return None
    return np.asarray(dataset.with_format("numpy")["document"][:], np.int64)


def pair_adjacent(documents: Rows) -> tuple[Rows, Rows]:
    """Pair the rows of each document: the first with the second, the third with the fourth.

    A row without a partner is paired with itself. No row is in two pairs; otherwise, the positive of one pair could
    be its own negative as the anchor of another.

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


def document_pairs(dataset: Dataset, positives: str = "document") -> Dataset:
    """Turn rows of ``text`` and ``document`` into rows of ``anchor`` and ``positive``.

    Only row numbers are kept in memory; texts are read when a row is used. With
    ``positives="next"``, a text without documents counts as one document.
    """
    documents = documents_of(dataset)
    if documents is None:
        if positives == "document":
            raise UserError(NO_DOCUMENTS_TO_PAIR)
        documents = np.zeros(len(dataset), np.int64)
    rows, partners = pair_adjacent(documents)
    if (rows == partners).all():
        raise UserError(
            f"positives = {positives} pairs sentences of the same document, but each document of this "
            "text has only one sentence. Set positives=crop."
        )
    pairs = Dataset.from_dict({"anchor": rows, "positive": partners})
    return pairs.with_transform(partial(_read, dataset["text"]))


def _read(texts: Sequence[str], rows: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
    """The texts with these row numbers."""
    return {name: select_texts(texts, numbers) for name, numbers in rows.items()}
