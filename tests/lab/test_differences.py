"""Tests over seeds and over rows, against slow ones and by hand."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.stats import enough_rounds
from clusterns.lab.differences import find_differences, least_p, permutation_p
from clusterns.lab.outcomes import Line, Outcome
from tests.lab.answers import GOLD, PAIRS, keep_answers


def slow_p(first: list[float], second: list[float]) -> float:
    gaps = np.subtract(first, second)
    sums = [abs(np.dot(signs, gaps)) for signs in product((1, -1), repeat=len(gaps))]
    return float(np.mean(np.array(sums) >= abs(gaps.sum()) - 1e-12))


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_permutations_of_signs(seeds: int) -> None:
    random = np.random.default_rng(seeds)
    for _ in range(3):
        first, second = random.normal(size=(2, seeds)).tolist()
        assert permutation_p(first, second) == pytest.approx(slow_p(first, second))
    better = list(range(seeds))
    assert permutation_p([b + 1 + b / 10 for b in better], better) == least_p(seeds) == 2 / 2**seeds
    assert permutation_p([1.0], [0.0]) is None


def line(label: str, folder: Path, noises: dict[int, float]) -> Line:
    """A line whose model of each seed answers with gold and so much noise."""
    outcomes = []
    for seed, noise in noises.items():
        run = folder / f"{label}-{seed}"
        value = keep_answers(run, label, seed, noise)
        result = {"suites": {"sts": {}}, "values": {"sts/Avg.": value, "dev": value}}
        outcomes.append(Outcome(seed, result, {}, run))
    return Line(label, label, outcomes=outcomes)


def test_seeds_and_rows_and_their_correction(tmp_path: Path) -> None:
    lines = [
        line("good", tmp_path, {1: 1.0, 2: 1.1, 3: 1.2, 4: 0.9}),
        line("bad", tmp_path, {1: 3.0, 2: 3.1, 3: 2.9}),
        line("same", tmp_path, {1: 1.0, 2: 1.1, 3: 1.2}),
        line("other seed", tmp_path, {9: 1.0}),
    ]
    compare = [("good", "bad"), ("good", "same"), ("good", "other seed")]
    first, second = find_differences(compare, "sts/Avg.", lines, lambda name: PAIRS)
    values = [lines[n].values("sts/Avg.") for n in range(2)]
    assert first.points == pytest.approx(np.mean([values[0][s] - values[1][s] for s in (1, 2, 3)]))
    assert (first.seeds, first.p_seeds, least_p(first.seeds)) == (3, 0.25, 0.25)
    assert first.adjusted_seeds == 0.5
    assert first.rounds == enough_rounds(2)
    assert first.low is not None
    assert 0 < first.low < first.points < (first.high or 0)
    assert first.p_rows is not None
    assert first.adjusted_rows == 2 * first.p_rows < 0.01
    assert second.p_rows is not None
    assert second.p_rows > 0.05
    assert second.adjusted_rows == second.p_rows
    assert first.points_rows == pytest.approx(first.points, abs=1e-3)


def test_a_model_without_its_answers_is_left_out_not_the_test(tmp_path: Path) -> None:
    lines = [
        line("a", tmp_path, {1: 1.0, 2: 1.1, 3: 1.2}),
        line("b", tmp_path, {1: 2.0, 2: 2.1, 3: 2.2}),
    ]
    for file in (tmp_path / "b-2" / "evaluation").rglob("*.npz"):
        file.unlink()
    (found,) = find_differences([("a", "b")], "sts/Avg.", lines, lambda name: PAIRS)
    assert (found.seeds, found.seeds_rows) == (3, 2)
    gaps = [lines[0].values("sts/Avg.")[s] - lines[1].values("sts/Avg.")[s] for s in (1, 3)]
    assert found.points_rows == pytest.approx(np.mean(gaps), abs=1e-3)
    assert found.low is not None
    assert found.low < found.points_rows < (found.high or 0)


def test_without_answers_row_by_row_only_the_seeds_are_tested(tmp_path: Path) -> None:
    lines = [line("a", tmp_path, {1: 1.0, 2: 1.1}), line("b", tmp_path, {1: 2.0, 2: 2.1})]
    (found,) = find_differences([("a", "b")], "dev", lines, lambda name: PAIRS)
    assert found.p_seeds == 0.5
    assert found.p_rows is found.adjusted_rows is found.low is None
    assert found.rounds == 0
    other = ScoredPairs(["a"] * 300, ["c"] * 300, GOLD, "STS12")
    (found,) = find_differences([("a", "b")], "sts/Avg.", lines, lambda name: other)
    assert found.p_rows is None
