from __future__ import annotations

import random

import pyarrow as pa

from clusterns.corpus.duplicates import SeenTexts


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
    assert seen.add(pa.array(["b", "a", "b", "é", "a"])).tolist() == [
        True,
        True,
        False,
        True,
        False,
    ]
    assert seen.add(pa.array(["é", "c"])).tolist() == [False, True]


def test_eight_bytes_a_text_in_few_runs() -> None:
    seen = SeenTexts()
    for start in range(0, 100_000, 1000):
        seen.add(pa.array([str(number) for number in range(start, start + 1000)]))
    assert sum(run.nbytes for run in seen._runs) == 8 * 100_000
    assert len(seen._runs) <= 8
