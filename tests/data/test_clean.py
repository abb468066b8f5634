from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from clusterns.data.clean import SeenTexts, clean


def cleaned(*texts: str | None, min_words: int = 1, max_chars: int = 100) -> list[str]:
    kept, _, _ = clean(pa.array(texts, pa.string()), min_words=min_words, max_chars=max_chars)
    return kept.to_pylist()


def reason(text: str | None, **settings: int) -> str:
    _, _, counts = clean(pa.array([text], pa.string()), **settings)
    dropped = [name for name, count in counts.items() if count and name != "read"]
    return dropped[0] if dropped else "kept"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("  two  words ", "two words"),
        ("tab\tand\x0bmore\r", "tab and more"),
        ("no-break\u00a0and\u2003wide\u3000blank", "no-break and wide blank"),
        ("line\u2028separator\x85here", "line separator here"),
        ("zero\u200bwidth soft\u00adhyphen \ufeffmark", "zerowidth softhyphen mark"),
        ("bell\x07 in the middle of a line", "bell in the middle of a line"),
        ("می\u200cخواهم family 👨\u200d👩", None),  # joiners carry meaning
        ("e\u0301te\u0301 stays decomposed", None),
    ],
)
def test_blanks_and_control_characters_are_normalized(raw: str, expected: str | None) -> None:
    assert cleaned(raw) == [expected or raw]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("YMCA in South Australia", "kept"),
        ("Jim Workman", "kept"),
        ("Notes", "too_short"),
        ("これは日本語の文です。", "kept"),  # written without blanks
        ("ภาษาไทยไม่มีช่องว่าง", "kept"),
        ("", "empty"),
        (None, "empty"),
        (" \t\u200b ", "empty"),
        ("1879 - 1911", "not_text"),
        ("*** !!! ---", "not_text"),
        ("br\ufffdken l\ufffdtters", "not_text"),
        ("one \ufffd damaged letter in a line that is otherwise long enough", "kept"),
        ("a\x01b\x02c d\x03", "not_text"),
        ("word " * 500, "too_long"),
    ],
)
def test_what_counts_as_a_sentence(text: str | None, expected: str) -> None:
    assert reason(text) == expected


def test_bounds_are_inclusive() -> None:
    assert cleaned("one two", "one two three", min_words=3) == ["one two three"]
    assert cleaned("one two", "日本語です", min_words=5) == ["日本語です"]
    assert cleaned("one two", min_words=5000) == []
    assert cleaned("a b c d", "a b c d e", max_chars=7) == ["a b c d"]


def test_counts_add_up_and_order_is_kept() -> None:
    texts = pa.array(["b b", "", "x", "a a", "1 2", "word " * 500, "b b"])
    kept, _, counts = clean(texts)
    assert kept.to_pylist() == ["b b", "a a", "b b"]
    assert counts == {"read": 7, "empty": 1, "too_short": 1, "not_text": 1, "too_long": 1}


def test_the_rules_agree_with_plain_python_on_real_text(shared_data: Path) -> None:
    lines = (shared_data / "wiki" / "wiki1m_head.txt").read_text("utf-8").split("\n")
    invisible = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
    expected = [" ".join(line.translate(invisible).split()) for line in lines]
    expected = [line for line in expected if any(map(str.isalpha, line))]
    assert len(expected) > 11_000
    assert clean(pa.array(lines), min_words=1)[0].to_pylist() == expected


def test_agrees_with_a_set() -> None:
    generator = random.Random(0)
    seen, oracle = SeenTexts(), set()
    for _ in range(200):
        batch = [f"text {generator.randrange(20_000)}" for _ in range(generator.randrange(300))]
        expected = []
        for text in batch:
            expected.append(text not in oracle)
            oracle.add(text)
        assert seen.add(pa.array(batch, pa.string())).tolist() == expected
    assert len(seen) == len(oracle) > 10_000


def test_the_first_of_equal_texts_is_the_new_one() -> None:
    seen = SeenTexts()
    new = seen.add(pa.array(["b", "a", "b", "é", "a"])).tolist()
    assert new == [True, True, False, True, False]
    assert seen.add(pa.array(["é", "c"])).tolist() == [False, True]
    assert seen.add(pa.array([], pa.string())).tolist() == []


def test_eight_bytes_a_text_in_few_runs() -> None:
    seen = SeenTexts()
    for start in range(0, 100_000, 1000):
        seen.add(pa.array([str(number) for number in range(start, start + 1000)]))
    assert sum(run.nbytes for run in seen._runs) == 8 * 100_000
    assert len(seen._runs) <= 8
