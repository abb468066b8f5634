from __future__ import annotations

import numpy as np
import pytest
from datasets import Dataset

from clusterns.corpus.document_pairs import document_pairs, next_in_document
from clusterns.errors import UserError


def slow(documents: list[int]) -> list[int]:
    """Walk on from each row, round the end, to the next row of its document."""
    count = len(documents)
    return [
        next(
            (row + step) % count
            for step in range(1, count + 1)
            if documents[(row + step) % count] == documents[row]
        )
        for row in range(count)
    ]


def test_the_next_one_by_hand() -> None:
    # Rows 0, 2 and 5 are one document, 1 and 4 another; 3 is alone.
    assert next_in_document(np.array([7, -1, 7, 0, -1, 7])).tolist() == [2, 4, 5, 3, 1, 0]
    assert next_in_document(np.array([], dtype=np.int64)).tolist() == []


@pytest.mark.parametrize("kinds", [1, 3, 40, 1000])
def test_against_a_walk(kinds: int) -> None:
    documents = np.random.default_rng(kinds).integers(-kinds, kinds, size=60)
    assert next_in_document(documents).tolist() == slow(documents.tolist())


def test_rows_become_pairs_in_their_order() -> None:
    rows = Dataset.from_dict({"text": list("abcde"), "document": [1, 1, 2, 3, 3]})
    pairs = document_pairs(rows)
    assert pairs.column_names == ["anchor", "positive"]
    assert list(pairs["anchor"]) == list("abcde")
    assert list(pairs["positive"]) == list("baced")
    # Rows that are a choice of others are no other than their texts.
    chosen = document_pairs(rows.select([4, 0, 1]))
    assert list(zip(chosen["anchor"], chosen["positive"], strict=True)) == [
        ("e", "e"), ("a", "b"), ("b", "a"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "message"),
    [({}, "the text has none: say what belongs together"), ({"document": [1, 2]}, "one sentence")],
    ids=str,
)
def test_without_documents_the_remedy_is_said(columns: dict[str, list[int]], message: str) -> None:
    with pytest.raises(UserError, match=message):
        document_pairs(Dataset.from_dict({"text": ["a", "b"], **columns}))
