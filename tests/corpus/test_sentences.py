from __future__ import annotations

import pyarrow as pa
import pytest

from clusterns.corpus.sentences import split_all, split_sentences


@pytest.mark.parametrize(
    "paragraph",
    [
        "It rained. | We stayed in! | Why not?",
        "Dr. J. R. Smith met Mr. Jones at 5 p.m. | They left.",
        "The U.S. Army came, e.g. by sea, i.e. late. | It won.",
        "Pi is 3.14159 or so. | See Fig. 3 and No. 7 in vol. 2, pp. 12-14.",
        "He said no. | No. 5 was alive.",
        '"Go away." | She left.',
        "He asked “Why?” | Nobody knew.",
        "(It was late.) | They went home.",
        '"What?" he asked. | "Nothing."',
        "Yahoo! was a company. | It was sold.",
        "Then ... nothing. | At last… | Something!",
        "1. First do this. | 2. Then do that.",
        "Born in 1911. | Died in 1987.[3] | Remembered.",
        "She was paid by Acme Inc. | The firm is gone.",
        "Use numpy.sort or np.argsort. | Both work.",
        "Am 3. Oktober kam Dr. Müller. | Er blieb.",
        "¿Qué hora es? | ¡No sé! | Él tampoco.",
        "No full stop at the end",
    ],
)
def test_english_and_its_neighbours(paragraph: str) -> None:
    expected = paragraph.split(" | ")
    assert split_sentences(" ".join(expected)) == expected


def test_chinese_and_japanese_need_no_blank() -> None:
    assert split_sentences("今天下雨。我们在家！为什么？") == [
        "今天下雨。",
        "我们在家！",
        "为什么？",
    ]
    assert split_sentences("彼は「行く。」と言った") == ["彼は「行く。」", "と言った"]


def test_an_empty_line_ends_a_sentence_and_a_line_break_does_not() -> None:
    assert split_sentences("A title\n\nIt is\nwrapped. Yes.") == [
        "A title",
        "It is\nwrapped.",
        "Yes.",
    ]


def test_rows_become_more_rows_and_empty_ones_stay_to_be_counted() -> None:
    rows = pa.array(["One is. Two are.", "", None, "Three"])
    sentences, split_from = split_all(rows)
    assert sentences.to_pylist() == ["One is.", "Two are.", "", "", "Three"]
    assert split_from.tolist() == [0, 0, 1, 2, 3]


def test_nothing_is_lost() -> None:
    text = "Mr. X. said: 'Go!' (He meant 3.5 km.) Then... e.g. nothing. " * 20
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())
