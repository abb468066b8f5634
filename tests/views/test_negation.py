from __future__ import annotations

import random
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from clusterns.encoder.locate import minibert_folder
from clusterns.views.lexicon import Form, forms_of
from clusterns.views.negation import negate
from clusterns.views.prompting import templated_tokenizer
from clusterns.views.template import Template
from clusterns.views.view import FullStop, Negation

# A sentence and its negation per line.
NEGATED = Path(__file__).with_name("negations.tsv").read_text("utf-8").splitlines()


@pytest.mark.parametrize("line", NEGATED)
def test_rules(line: str) -> None:
    sentence, negation = line.split("\t")
    assert negate(sentence) == negation


def test_a_text_without_words() -> None:
    assert negate("") == negate("  ") == "Not"


@pytest.mark.parametrize(
    ("word", "lemma"),
    [("planned", "plan"), ("visited", "visit"), ("carried", "carry"), ("released", "release"),
     ("wrote", "write"), ("travelled", "travel"), ("traveled", "travel"), ("googled", "google"),
     ("rebooted", "reboot"), ("digitised", "digitise")],
)  # fmt: skip
def test_lemma_of_a_past(word: str, lemma: str) -> None:
    assert Form(lemma, "past") in forms_of(word)


def test_words_in_ed_that_are_no_verbs() -> None:
    assert not any(forms_of(word) for word in ("hundred", "sacred", "red", "speed"))


GENERATOR = random.Random(0)


def test_the_full_stop_is_where_the_model_has_it_at_test() -> None:
    tokenizer = AutoTokenizer.from_pretrained(minibert_folder())
    template = Template("{sentence} means {mask}.")
    test, training = (templated_tokenizer(tokenizer, template, full_stop=f) for f in (True, False))
    for end in ("", ".", "?", "!", ",", ")", "'", '"', " ", ". ", "\n"):
        text = f"A man eats{end}"
        assert training(FullStop()(text, GENERATOR)).input_ids == test(text).input_ids, end
    assert Negation()("The man is eating", GENERATOR) == "The man is not eating."
