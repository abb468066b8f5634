from __future__ import annotations

import numpy as np
import pytest

from clusterns.explorer.keywords import Keywords, class_tf_idf, content_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Sort the C++ array's 42 items, don't a!", ["sort", "c++", "array", "items"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("日本語です", ["日本", "本語", "語で", "です"]),
        ("Größe être Ёлка <script>", ["größe", "être", "ёлка", "script"]),
        ("🙂 12 !", []),
    ],
)
def test_words_of_many_scripts(text, words):
    assert content_words(text) == words


def test_scores_by_hand():
    # Three groups of ten; word 0 is everywhere, word 1 in half of the first group, word 2 once.
    table = np.array([[9, 5, 1], [9, 0, 0], [9, 0, 0]], dtype=np.float32)
    scores = class_tf_idf(table, np.array([10, 10, 10]))
    assert scores[:, 0].tolist() == [0, 0, 0]
    assert scores[0, 1] == pytest.approx(0.5 * np.log(0.5 / (0.5 / 3)))
    assert scores[0, 2] == 0
    assert scores[1].tolist() == [0, 0, 0]


def test_of_two_groups_a_common_word_has_to_be_twice_as_frequent():
    # Word 0 is common and in half as many again, word 1 common and thrice as frequent, word 2 rare.
    table = np.array([[60, 60, 3], [40, 20, 2]], dtype=np.float32)
    scores = class_tf_idf(table, np.array([100, 100]))
    assert scores[:, 0].tolist() == [0, 0]
    assert scores[0, 1] == pytest.approx(0.6 * np.log(0.6 / 0.4))
    assert scores[0, 2] > 0


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        (["the ship of it", "the judge of it", "the cell of it"], ["ship"]),  # all groups say "it"
        (["your ship as it sails", "the court rules", "a cell divides"], ["sails", "ship"]),
        (["file files filed", "river", "moon"], ["file"]),  # forms of a word count once
        (["1 2", "!", "?"], []),
    ],
)
def test_keywords_of_groups(texts, first):
    keywords = Keywords([text for text in texts for _ in range(9)])
    assert keywords.of_groups(np.repeat([0, 1, 2], 9), 3)[0] == first
    assert keywords.of_rows(range(9))[:1] == first[:1]
