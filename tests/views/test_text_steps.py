from __future__ import annotations

import random
from pathlib import Path

import pytest

from clusterns.views.kept_negations import keep_negations
from clusterns.views.text_steps import FullStop, KeptNegation, Negation

GENERATOR = random.Random(0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A man eats", "A man eats."),
        ("Who eats?", "Who eats?"),
        ("Go! ", "Go!"),
        ('"Yes"', '"Yes"'),
    ],
)
def test_a_full_stop_where_there_is_none(text: str, expected: str) -> None:
    assert FullStop()(text, GENERATOR) == expected


def test_a_negation_by_rules_and_one_that_was_kept(tmp_path: Path) -> None:
    assert Negation()("The man is eating", GENERATOR) == "The man is not eating."
    path = tmp_path / "kept.arrow"
    keep_negations(path, ["a b", "c d"], lambda texts: (f"no {t}" for t in texts), quiet=True)
    assert KeptNegation(str(path))("c d", GENERATOR) == "no c d."
