"""To which document a sentence belongs, as a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from clusterns.corpus.duplicates import hashes

if TYPE_CHECKING:
    from datasets import Dataset

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
        steps = np.zeros(len(lines), dtype=np.int64)
        if self._kind == "paragraph":
            blank = pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(lines)), 0)
            steps[blank.to_numpy(zero_copy_only=False)] = 1
        elif self._kind == "line":
            steps[:] = 1
        numbers = self._number + np.cumsum(steps)
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
