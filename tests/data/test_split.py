from __future__ import annotations

from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pyarrow as pa
import pytest
from datasets import Dataset

from clusterns.data.corpus import prepare_corpus
from clusterns.data.split import heldout_sentences, select_texts, split_rows
from clusterns.errors import UserError

TEXTS = [f"text {number}" for number in range(100)]


def split_heldout(dataset: Dataset, count: int, seed: int) -> tuple[Dataset, list[str]]:
    rows, heldout = split_rows(dataset, count, seed)
    return rows, heldout["text"][:]


def test_at_most_a_tenth_is_kept_out_and_the_seed_decides() -> None:
    dataset = Dataset.from_dict({"text": TEXTS})
    assert len(split_heldout(dataset, 1000, seed=0)[1]) == 10
    assert split_heldout(dataset, 5, seed=1)[1] == split_heldout(dataset, 5, seed=1)[1]
    assert split_heldout(dataset, 5, seed=1)[1] != split_heldout(dataset, 5, seed=2)[1]
    rows, heldout = split_heldout(Dataset.from_dict({"text": TEXTS[:9]}), 5, seed=0)
    assert (rows["text"][:], heldout) == (TEXTS[:9], [])


@pytest.mark.parametrize("seed", range(20))
def test_the_split_is_the_one_of_recorded_runs(seed: int) -> None:
    """Also where rows at an end, or two neighbours, are kept out."""
    rows, heldout = split_heldout(Dataset.from_dict({"text": TEXTS}), 10, seed)
    chosen = set(np.random.default_rng(seed).choice(100, 10, replace=False).tolist())
    assert heldout == [TEXTS[row] for row in sorted(chosen)]
    assert rows["text"][:] == [TEXTS[row] for row in range(100) if row not in chosen]


@pytest.mark.parametrize("columns", [{}, {"document": [number // 3 for number in range(100)]}])
def test_what_is_kept_out_is_known_without_the_rest(columns: dict[str, list[int]]) -> None:
    dataset = Dataset.from_dict({"text": TEXTS, **columns})
    assert heldout_sentences(dataset, 8, seed=3) == split_heldout(dataset, 8, seed=3)[1]
    assert len(heldout_sentences(dataset, 8, seed=3)) > 5


def test_rows_in_an_order_of_their_own_stay_in_it() -> None:
    dataset = Dataset.from_dict({"text": TEXTS}).select(range(99, -1, -1))
    rows, heldout = split_heldout(dataset, 10, seed=0)
    assert rows["text"][:] == [text for text in TEXTS[::-1] if text not in heldout]


def test_rows_stay_on_disk(tmp_path: Path) -> None:
    lines = 50_000
    (tmp_path / "corpus.txt").write_text("\n".join(f"line {n}" for n in range(lines)))
    corpus = prepare_corpus([str(tmp_path / "corpus.txt")], cache=tmp_path, progress=False)
    before = pa.total_allocated_bytes()
    rows, _ = split_heldout(corpus.dataset, 20, seed=0)
    # A number for each row would be 8 bytes.
    assert pa.total_allocated_bytes() - before < lines
    assert len(rows) == lines - 20


def in_documents(sizes: list[int]) -> Dataset:
    """Rows of documents of these sizes, mixed with each other."""
    documents = np.random.default_rng(3).permutation(np.repeat(np.arange(len(sizes)), sizes))
    texts = [f"text {row} of {document}" for row, document in enumerate(documents)]
    return Dataset.from_dict({"text": texts, "document": documents})


@pytest.mark.parametrize("seed", range(5))
def test_whole_documents_are_kept_out(seed: int) -> None:
    dataset = in_documents([7, 1, 30, 3, 3, 2, 60, 4, 5, 5])
    rows, kept_out = split_rows(dataset, 11, seed)
    assert not set(rows["document"]) & set(kept_out["document"])
    assert sorted([*rows["text"], *kept_out["text"]]) == sorted(dataset["text"])
    assert 8 <= len(kept_out) <= 11
    assert split_heldout(dataset, 11, seed)[1] == kept_out["text"][:]


def test_the_seed_decides_which_documents() -> None:
    dataset = in_documents([2] * 50)
    first, same, other = (set(split_rows(dataset, 10, seed)[1]["document"]) for seed in (1, 1, 2))
    assert first == same != other
    assert len(first) == 5


def test_documents_that_are_too_large_to_keep_out() -> None:
    with pytest.raises(UserError, match=r"the smallest of 3 documents has 15 of the 55 sentences"):
        split_heldout(in_documents([15, 20, 20]), 1000, 0)
    rows, heldout = split_heldout(in_documents([2, 3]), 1000, 0)
    assert (len(rows), heldout) == (5, [])


def test_rows_of_a_list_and_of_a_column_in_one_call() -> None:
    column = MagicMock()
    column.__getitem__.side_effect = Dataset.from_dict({"text": list("abcd")})["text"].__getitem__
    for texts in (list("abcd"), column):
        assert select_texts(texts, [3, 0, 3]) == ["d", "a", "d"]
    assert column.__getitem__.call_count == 1
