from __future__ import annotations

from datasets import Dataset

from clusterns.corpus import split_heldout

TEXTS = [f"text {number}" for number in range(100)]


def test_nothing_is_lost_and_nothing_is_shared() -> None:
    rows, heldout = split_heldout(Dataset.from_dict({"text": TEXTS}), 7, seed=0)
    assert len(heldout) == 7
    assert rows["text"][:] == [text for text in TEXTS if text not in heldout]
    assert set(heldout) < set(TEXTS)


def test_at_most_a_tenth_and_the_seed_decides() -> None:
    dataset = Dataset.from_dict({"text": TEXTS})
    assert len(split_heldout(dataset, 1000, seed=0)[1]) == 10
    assert split_heldout(dataset, 5, seed=1)[1] == split_heldout(dataset, 5, seed=1)[1]
    assert split_heldout(dataset, 5, seed=1)[1] != split_heldout(dataset, 5, seed=2)[1]
