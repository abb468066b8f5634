from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset, load_from_disk

from clusterns.corpus.document_pairs import document_pairs, two_by_two
from clusterns.errors import UserError


def slow(documents: list[int]) -> set[tuple[int, int]]:
    """Each document on its own, its rows taken from the front."""
    pairs = set()
    for document in set(documents):
        rows = [row for row, of in enumerate(documents) if of == document]
        while rows:
            first = rows.pop(0)
            pairs.add((first, rows.pop(0) if rows else first))
    return pairs


def test_pairs_by_hand() -> None:
    # Rows 0, 2 and 5 are one document, 1 and 4 another; 3 is alone.
    rows, partners = two_by_two(np.array([7, -1, 7, 0, -1, 7]))
    assert set(zip(rows.tolist(), partners.tolist(), strict=True)) == {
        (0, 2), (5, 5), (1, 4), (3, 3),
    }  # fmt: skip
    assert [each.tolist() for each in two_by_two(np.array([], dtype=np.int64))] == [[], []]


@pytest.mark.parametrize("kinds", [1, 3, 40, 1000])
def test_against_one_document_at_a_time(kinds: int) -> None:
    documents = np.random.default_rng(kinds).integers(-kinds, kinds, size=61)
    rows, partners = two_by_two(documents)
    assert set(zip(rows.tolist(), partners.tolist(), strict=True)) == slow(documents.tolist())
    # No sentence is in two pairs.
    together = [*rows, *partners[partners != rows]]
    assert sorted(together) == list(range(61))


def test_rows_read_their_texts(tmp_path: Path) -> None:
    Dataset.from_dict({"text": list("abcde"), "document": [1, 1, 2, 3, 3]}).save_to_disk(tmp_path)
    files = set(tmp_path.rglob("*"))
    rows = load_from_disk(tmp_path)
    for pairs in (document_pairs(rows), pickle.loads(pickle.dumps(document_pairs(rows)))):
        assert pairs.column_names == ["anchor", "positive"]
        assert list(pairs) == [
            {"anchor": "a", "positive": "b"},
            {"anchor": "c", "positive": "c"},
            {"anchor": "d", "positive": "e"},
        ]
        assert pairs[[2, 0]] == {"anchor": ["d", "a"], "positive": ["e", "b"]}
    # Rows that are a choice of others are no other than their texts.
    assert list(document_pairs(rows.select([4, 0, 1]))) == [
        {"anchor": "a", "positive": "b"},
        {"anchor": "e", "positive": "e"},
    ]
    assert set(tmp_path.rglob("*")) == files  # nothing was copied


@pytest.mark.parametrize(
    ("columns", "message"),
    [({}, "the text has none: say what belongs together"), ({"document": [1, 2]}, "one sentence")],
    ids=str,
)
def test_without_documents_the_remedy_is_said(columns: dict[str, list[int]], message: str) -> None:
    with pytest.raises(UserError, match=message):
        document_pairs(Dataset.from_dict({"text": ["a", "b"], **columns}))
