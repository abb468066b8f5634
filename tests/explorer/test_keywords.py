from __future__ import annotations

import numpy as np
import pytest

from clusterns.explorer.keywords import Keywords, class_tf_idf, words_of


def test_words_of_many_scripts() -> None:
    assert words_of("Sort the C++ array's NumPy_2 items, don't 42 a!") == [
        "sort", "the", "c++", "array's", "numpy_2", "items", "don't",
    ]  # fmt: skip
    assert words_of("हिन्दी में") == ["हिन्दी", "में"]
    assert words_of("日本語です") == ["日本", "本語", "語で", "です"]
    assert words_of("Größe être Ёлка") == ["größe", "être", "ёлка"]
    assert words_of("<script>") == ["script"]
    assert words_of("🙂 12 !") == []


def test_scores_by_hand() -> None:
    # Three groups of ten; word 0 is everywhere, word 1 in half of the first group, word 2 once.
    table = np.array([[9, 5, 1], [9, 0, 0], [9, 0, 0]], dtype=np.float32)
    scores = class_tf_idf(table, np.array([10, 10, 10]))
    assert scores[:, 0].tolist() == [0, 0, 0]
    assert scores[0, 1] == pytest.approx(0.5 * np.log(0.5 / (0.5 / 3)))
    assert scores[0, 2] == 0
    assert scores[1].tolist() == [0, 0, 0]


def test_of_two_groups_a_common_word_has_to_be_twice_as_frequent() -> None:
    # Word 0 is common and in half as many again, word 1 common and thrice as frequent, word 2 rare.
    table = np.array([[60, 60, 3], [40, 20, 2]], dtype=np.float32)
    scores = class_tf_idf(table, np.array([100, 100]))
    assert scores[:, 0].tolist() == [0, 0]
    assert scores[0, 1] == pytest.approx(0.6 * np.log(0.6 / 0.4))
    assert scores[0, 2] > 0


def test_typical_words_leave_out_what_all_groups_say() -> None:
    texts = [f"the {word} of it {i}x" for word in ("ship", "judge", "cell") for i in range(20)]
    groups = np.repeat([0, 1, 2], 20)
    assert Keywords(texts).of_groups(groups, 3) == [["ship"], ["judge"], ["cell"]]
    assert Keywords(texts).of_rows(range(20, 40))[0] == "judge"


def test_stop_words_are_no_keywords_even_of_one_group() -> None:
    texts = ["your ship as it sails"] * 9 + ["the court rules"] * 9 + ["a cell divides"] * 9
    first = Keywords(texts).of_groups(np.repeat([0, 1, 2], 9), 3)[0]
    assert first == ["sails", "ship"]


def test_texts_without_a_word_have_none() -> None:
    assert Keywords(["1 2", "!"]).of_groups(np.array([0, 0]), 1) == [[]]


def test_forms_of_a_word_count_once() -> None:
    texts = ["file files filed"] * 3 + ["river"] * 3 + ["moon"] * 3
    first = Keywords(texts).of_groups(np.repeat([0, 1, 2], 3), 3)[0]
    assert len(first) == 1
