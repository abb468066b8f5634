from __future__ import annotations

import random
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from clusterns.encoder.locate import minibert_folder
from clusterns.views.kept_negations import keep_negations
from clusterns.views.prompting import templated_tokenizer
from clusterns.views.template import Template
from clusterns.views.text_steps import FullStop, KeptNegation, Negation

GENERATOR = random.Random(0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A man eats", "A man eats."),
        ("Who eats?", "Who eats?"),
        ("Go! ", "Go!."),  # as at test: the rule is PromptBERT's
        ('"Yes"', '"Yes"'),
    ],
)
def test_a_full_stop_where_there_is_none(text: str, expected: str) -> None:
    assert FullStop()(text, GENERATOR) == expected


def test_the_full_stop_is_where_the_model_has_it_at_test() -> None:
    tokenizer = AutoTokenizer.from_pretrained(minibert_folder())
    template = Template("{sentence} means {mask}.")
    test, training = (templated_tokenizer(tokenizer, template, full_stop=f) for f in (True, False))
    for end in ("", ".", "?", "!", ",", ")", "'", '"', " ", ". ", "\n"):
        text = f"A man eats{end}"
        assert training(FullStop()(text, GENERATOR)).input_ids == test(text).input_ids, end


def test_a_negation_by_rules_and_one_that_was_kept(tmp_path: Path) -> None:
    assert Negation()("The man is eating", GENERATOR) == "The man is not eating."
    path = tmp_path / "kept.arrow"
    keep_negations(path, ["a b", "c d"], lambda texts: (f"no {t}" for t in texts), quiet=True)
    assert KeptNegation(str(path))("c d", GENERATOR) == "no c d."
