from __future__ import annotations

import pytest

from clusterns.data.sentences import Wrapping, split_sentences, unwrap


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


def test_nothing_is_lost() -> None:
    text = "Mr. X. said: 'Go!' (He meant 3.5 km.) Then... e.g. nothing. " * 20
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


PROSE = """\
The telescope on the hill is older than the town below it, and nobody
remembers who carried its mirror up the path. On clear nights a school-
master opens the dome and lets the children look at the rings of Saturn,
which they never forget. Some of them come back years later with children
of their own.
"""
MANUAL = f"""\
Chapter One

{PROSE}
In the visitors' book there is a poem:

    The dome is dark,
    The night is wide,
    A little spark
    Is caught inside.

What you need for a visit:

- a coat that keeps the wind out, because the dome stays open to the sky
  for as long as anyone wants to look,
- a torch

Name            Diameter
main mirror     60 cm
finder          8 cm

Before you go in, the schoolmaster of the hill will ask you for a well-
known favor: keep the light red. He is liked well and known to all.
"""


def unwrapped(text: str) -> list[str]:
    lines = text.split("\n")
    wrapping = Wrapping.find(lines)
    return lines if wrapping is None else [joined for _, joined in unwrap(lines, wrapping)]


def test_wrapped_paragraphs_are_joined_and_the_rest_stays() -> None:
    found = unwrapped(MANUAL)
    assert found[2].startswith(
        "The telescope on the hill is older than the town below it, and nobody rem"
    )
    assert found[2].endswith("with children of their own.")
    assert "a schoolmaster opens" in found[2]  # the text has the word elsewhere
    assert "a well-known favor" in found[-2]  # the text has both halves elsewhere
    kept = [*MANUAL.split("\n")[9:15], "Chapter One", "- a torch", "main mirror     60 cm"]
    assert set(kept) <= set(found)
    assert any(line.endswith("to the sky for as long as anyone wants to look,") for line in found)
    # The number of each text is that of its first line.
    lines = MANUAL.split("\n")
    wrapping = Wrapping.find(lines)
    assert wrapping is not None
    assert all(lines[row].split("-")[0][:20] in text for row, text in unwrap(lines, wrapping))


VERSE = """\
The harbor sleeps, the lanterns swing, the tide is going out,
And someone on the eastern mole has heard a sailor shout,
The ropes are wet, the boards are worn, the gulls are on the sand,
And no one comes, and no one calls, and no one is at hand.
"""


@pytest.mark.parametrize(
    "text",
    [
        "roses are red\nviolets are blue\nsugar is sweet\nand so are you",
        VERSE,
        "It rained all day and nobody went out.\nWe stayed.\nThe cat slept on the warm stove.\nIt snowed.",
        "\n".join(f"A paragraph of its own, {word * 40}." for word in ("one ", "two ", "three ")),
        "apples\npears and plums\na very long name of a fruit that nobody ever buys here\nfigs",
        "A heading of the manual\nThe text below it begins here and goes on for long.",
        "",
    ],
)
def test_lines_that_mean_something_are_kept(text: str) -> None:
    assert unwrapped(text) == text.split("\n")


def test_a_blank_line_goes_between_words_where_the_script_has_it() -> None:
    line = "今天下雨我们都在家里看书喝茶等朋友来吃饭然后一起去看电影或者打牌聊天直到半夜才回去睡觉"
    assert unwrapped(f"{line}\n{line}\n很好。") == [line + line + "很好。"]


def test_quoted_heading_and_item_lines_begin_something_new() -> None:
    first = "this line is quite as long as all of the others are in this text"
    for second in ("> quoted by", "# Heading", "2) second", "  indented", "| a | b |", "======"):
        assert unwrapped(f"{first}\n{first}\n{second}") == [f"{first} {first}", second]


def test_a_text_without_blank_lines_is_joined_in_little_memory() -> None:
    lines = [f"{number:05d} {'word ' * 12}end" for number in range(2500)]
    wrapping = Wrapping.find(lines[:100])
    assert wrapping is not None
    assert [row for row, _ in unwrap(lines, wrapping)] == [0, 1000, 2000]
