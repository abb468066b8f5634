from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer

from clusterns.encoder.load import load_base
from clusterns.encoder.locate import minibert_folder
from clusterns.losses.features import stack_views
from clusterns.views.collator import ViewCollator
from clusterns.views.prompting import TemplatedViews
from clusterns.views.template import Template
from clusterns.views.view import Crop, Repetition, View, crop, words_of

CROPS = (View(text=Crop(0.3)),) * 2
TEXTS = ["the king and the old stone bridge", "rain", "two dogs ran over the wet field at noon"]
ROWS = [{"text": text} for text in TEXTS]


@dataclass(frozen=True)
class Shout:
    def __call__(self, text: str, generator: random.Random) -> str:
        return text + " !"


def collator(base: Path, **settings) -> ViewCollator:
    return ViewCollator(preprocess_fn=load_base(str(base)).preprocess, max_length=12, **settings)


def ids(batch: dict, view: str) -> list[list[int]]:
    seen = batch[f"{view}_attention_mask"].bool()
    rows = zip(batch[f"{view}_input_ids"], seen, strict=True)
    return [row[mask].tolist() for row, mask in rows]


def test_repetition_doubles_fewer_than_its_bound_in_place() -> None:
    generator = random.Random(0)
    sentence = range(1, 19)
    counts = set()
    for _ in range(400):
        places = Repetition(0.32)(20, sentence, generator)
        assert sorted(set(places)) == list(range(20))
        assert places == sorted(places)
        assert (places.count(0), places.count(19)) == (1, 1)
        counts.add(len(places) - 20)
    assert counts == set(range(6))  # int(0.32 * 20) = 6: 0 to 5
    assert Repetition(0.32)(3, [1], generator) == [0, 1, 2]  # int(0.96) = 0
    long = {len(Repetition(0.5)(100, range(1, 99), generator)) - 100 for _ in range(400)}
    assert long == set(range(10))
    assert {len(Repetition(0.9)(8, [1], generator)) - 8 for _ in range(99)} == {0, 1}


def test_repeated_rows_keep_their_tokens_and_depend_on_seed_epoch_and_sentence(
    tiny_bert: Path,
) -> None:
    views = (View(), View(tokens=Repetition(0.6)))
    made = collator(tiny_bert, views=views, seed=3)
    batch = made(ROWS)
    anchors, repeated = ids(batch, "anchor"), ids(batch, "positive")
    assert "positive_special_tokens_mask" not in batch
    for anchor, row in zip(anchors, repeated, strict=True):
        assert list(dict.fromkeys(row)) == list(dict.fromkeys(anchor))
        assert (row[0], row[-1]) == (anchor[0], anchor[-1])
        assert (row.count(row[0]), row.count(row[-1])) == (1, 1)
    assert any(len(a) < len(r) for a, r in zip(anchors, repeated, strict=True))
    assert ids(made(ROWS[::-1]), "positive") == repeated[::-1]
    assert ids(collator(tiny_bert, views=views, seed=4)(ROWS), "positive") != repeated
    made.epoch = 1
    assert ids(made(ROWS), "positive") != repeated
    short = collator(tiny_bert, views=views, seed=3, max_tokens=5)
    assert ids(short(ROWS), "positive") == anchors  # no room: unchanged


def test_three_views_are_three_columns(tiny_bert: Path) -> None:
    batch = collator(tiny_bert, views=(View(), View(), View(text=Shout())))(ROWS)
    assert ids(batch, "anchor") == ids(batch, "positive")
    assert [len(row) for row in ids(batch, "view3")] == [
        min(12, 1 + len(row)) for row in ids(batch, "anchor")
    ]
    plain = collator(tiny_bert)(ROWS)  # dropout tokenizes once
    assert {key.split("_")[0] for key in plain} == {"anchor"}
    assert plain["anchor_input_ids"].shape == (3, 12)


def test_rows_of_two_texts_give_each_view_its_own(tiny_bert: Path) -> None:
    rows = [{"anchor": text, "positive": text.upper() + " too"} for text in TEXTS]
    batch = collator(tiny_bert)(rows)
    plain = load_base(str(tiny_bert)).tokenizer
    assert ids(batch, "anchor") == plain(TEXTS, truncation=True, max_length=12)["input_ids"]
    expected = plain([f"{text} too" for text in TEXTS], truncation=True, max_length=12)
    assert ids(batch, "positive") == expected["input_ids"]
    # What comes behind the pair is of the anchor, as where there is one text.
    third = collator(tiny_bert, views=(View(), View(), View()))(rows)
    assert ids(third, "view3") == ids(third, "anchor")


def test_a_tokenizer_of_a_part_gets_its_own_prompt_and_not_the_encoders() -> None:
    asked = []

    def preprocess(texts: list[str], prompt: str | None = None, **_: object) -> dict:
        asked.append(prompt)
        return {"input_ids": torch.ones(len(texts), 2), "attention_mask": torch.ones(len(texts), 2)}

    own = View(preprocess=preprocess, prompt="judge: ")
    none = View(preprocess=preprocess)
    views = (View(), View(), own, none)
    ViewCollator(preprocess_fn=preprocess, prompts="query: ", views=views)(ROWS)
    assert asked == ["query: ", "query: ", "judge: ", None]


def test_of_several_templates_each_row_draws_one() -> None:
    tokenizer = AutoTokenizer.from_pretrained(minibert_folder())
    several = tuple(Template(f"{word} {{sentence}} is {{mask}}.") for word in ("here", "now", "so"))
    own = Template("{sentence} means {mask}.")
    views = (View(templates=(own,)), View(templates=several))
    rows = [{"text": f"{text} {i}"} for i in range(9) for text in TEXTS]
    made = ViewCollator(
        preprocess_fn=TemplatedViews(tokenizer, (own, *several), limit=64),
        max_length=9,
        views=views,
    )
    batch = made(rows)
    words = [tokenizer.decode([row[1]]) for row in ids(batch, "positive")]
    assert set(words) == {"here", "now", "so"}
    for row, text, word in zip(ids(batch, "positive"), rows, words, strict=True):
        cut = tokenizer.decode(tokenizer(text["text"])["input_ids"][1:-1][:9])
        assert row == tokenizer(f"{word} {cut} is [MASK].")["input_ids"]
    assert ids(made(rows[::-1]), "positive") == ids(batch, "positive")[::-1]
    single = ViewCollator(
        preprocess_fn=made.preprocess_fn, views=(views[1], views[1]), max_length=9
    )(rows)
    assert ids(single, "anchor") != ids(single, "positive")


@pytest.mark.parametrize("tokens", [None, Repetition(0.9)])
def test_templates_and_repetition_leave_the_template_alone(tokens: Repetition | None) -> None:
    tokenizer = AutoTokenizer.from_pretrained(minibert_folder())
    template = Template("this {sentence} means {mask}.")
    view = View(tokens=tokens, templates=(template,))
    batch = ViewCollator(
        preprocess_fn=TemplatedViews(tokenizer, [template], limit=64),
        max_length=9,
        views=(view, view),
    )(ROWS)
    bare = tokenizer("this means [MASK].")["input_ids"]
    for row, text in zip(ids(batch, "anchor"), TEXTS, strict=True):
        assert row[:2] + row[-4:] == bare
        sentence = tokenizer(text)["input_ids"][1:-1][:9]
        assert list(dict.fromkeys(row[2:-4])) == list(dict.fromkeys(sentence))


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
    short, long = ({"input_ids": torch.tensor([ids]), "note": "x"} for ids in ([1, 2], [3, 4, 5]))
    rows = stack_views([short, long])
    assert rows["input_ids"].tolist() == [[1, 2, 0], [3, 4, 5]]
    assert rows["note"] == "x"
    assert stack_views([short])["input_ids"].tolist() == [[1, 2], [1, 2]]
