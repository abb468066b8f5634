from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from clusterns.encoder.load import load_base
from clusterns.losses.features import sorted_by_length, stack_views
from clusterns.views.collator import ViewCollator
from clusterns.views.view import Crop, View, crop, words_of

ROWS = [
    {"text": f"the {w} and the old stone bridge over the river"} for w in ("king", "harbour master")
]


CROPS = (View(text=Crop(0.3)),) * 2


def collator(base: Path, **settings) -> ViewCollator:
    return ViewCollator(preprocess_fn=load_base(str(base)).preprocess, max_length=8, **settings)


def test_dropout_tokenises_once(tiny_bert: Path) -> None:
    batch = collator(tiny_bert)(ROWS)
    assert {key.split("_")[0] for key in batch} == {"anchor"}
    assert batch["anchor_input_ids"].shape == (2, 8)


def test_crops_depend_on_seed_epoch_and_sentence_only(tiny_bert: Path) -> None:
    def positives(epoch: int = 0, seed: int = 1, rows: list = ROWS) -> list:
        made = collator(tiny_bert, views=CROPS, seed=seed)
        made.epoch = epoch
        random.random()  # the global generator plays no part
        return made(rows)["positive_input_ids"].tolist()

    assert positives() == positives()
    assert positives() != positives(epoch=1)
    assert positives() != positives(seed=2)
    assert positives(rows=ROWS[::-1]) == positives()[::-1]
    batch = collator(tiny_bert, views=CROPS, seed=1)(ROWS)
    assert batch["anchor_input_ids"].tolist() != batch["positive_input_ids"].tolist()


def test_a_crop_is_a_run_of_words_of_the_asked_length() -> None:
    text = "one two three four five six seven eight nine ten"
    generator = random.Random(0)
    crops = [crop(text, 0.5, generator) for _ in range(300)]
    assert all(c in text for c in crops)
    lengths = {len(c.split()) for c in crops}
    assert lengths == set(range(5, 11))
    characters = {crop("河流穿过古老的城镇", 0.5, generator) for _ in range(50)}
    assert len(characters) > 5  # a script without blanks is cropped by characters
    assert all(c in "河流穿过古老的城镇" for c in characters)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello", ["Hello"]),  # never cropped into letters
        ("two  words ", ["two ", "words"]),
        ("河流 穿过town城", ["河", "流 ", "穿", "过", "town", "城"]),
        ("ทำไม", ["ทำ", "ไ", "ม"]),  # a mark stays with its character
        ("The temple 金閣寺 is in Kyoto", ["The ", "temple ", "金閣寺 ", "is ", "in ", "Kyoto"]),
        ("12 !", ["12 ", "!"]),
    ],
)
def test_the_words_of_a_text(text: str, words: list[str]) -> None:
    assert words_of(text) == words
    assert crop(text, 1, random.Random(0)) == " ".join(text.split())


def test_both_views_become_rows_of_one_input() -> None:
    short = {
        "input_ids": torch.tensor([[1, 2]]),
        "attention_mask": torch.tensor([[1, 1]]),
        "note": "x",
    }
    long = {"input_ids": torch.tensor([[3, 4, 5]]), "attention_mask": torch.tensor([[1, 1, 1]])}
    rows = stack_views([short, long])
    assert rows["input_ids"].tolist() == [[1, 2, 0], [3, 4, 5]]
    assert rows["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 1]]
    assert rows["note"] == "x"
    assert stack_views([short])["input_ids"].tolist() == [[1, 2], [1, 2]]


def test_sorting_by_length_can_be_undone() -> None:
    mask = torch.tensor([[1, 1, 1], [1, 0, 0], [1, 1, 0]])
    rows, back = sorted_by_length({"attention_mask": mask, "input_ids": mask * 7})
    assert rows["attention_mask"].sum(1).tolist() == [1, 2, 3]
    assert torch.equal(rows["input_ids"][back], mask * 7)
