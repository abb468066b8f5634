"""Which texts share their words: numbers, names and negations decide."""

from __future__ import annotations

import pytest

from clusterns.explorer.same_words import Words, share_words


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("Getting Started With Numpy", "getting started with NumPy!", True),
        ("Return the sorted list.", "Returns sorted lists", True),
        ("receive the packet from the server", "recieve the packet from the server", True),
        ("the quick brown fox jumps over a lazy dog", "the quick brown fox jumps over a dog", True),
        ("中文句子测试很好", "中文句子测试很好。", True),
        ("Finnish-Dutch dictionary", "French-Italian dictionary", False),
        ("Finnish-Dutch dictionary", "Dutch-Finnish dictionary", False),
        ("Version 1.2 of the tool", "Version 1.3 of the tool", False),
        ("It is supported.", "It is not supported.", False),
        ("It works.", "It doesn't work.", False),
        ("the maximum of a long array of numbers", "the minimum of a long array of numbers", False),
        ("run the linter before all tests", "run the linter after all tests", False),
        ("who is it", "what is it", False),
        ("中文句子测试很好", "日文句子测试很好", False),
    ],
)
def test_what_counts_as_the_same(first, second, same):
    for one, other in ((first, second), (second, first)):
        assert share_words(Words.of(one), Words.of(other)) is same
