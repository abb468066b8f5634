from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from clusterns.explorer.duplicates import Pairs, find_pairs, group_rows, levels, line_pairs


def unit_rows(count: int, dimension: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def neighbors(vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -2)
    rows = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(cosines, rows, 1), rows


def slow_groups(vectors: np.ndarray, threshold: float) -> list[set[int]]:
    """Merge sets until nothing merges."""
    groups = [{i} for i in range(len(vectors))]
    merged = True
    while merged:
        merged = False
        for one, other in combinations(groups, 2):
            if any(vectors[i] @ vectors[j] >= threshold for i in one for j in other):
                groups.remove(other)
                one |= other
                merged = True
                break
    return [group for group in groups if len(group) > 1]


@pytest.mark.parametrize("threshold", [0.9, 0.6, 0.3])
def test_pairs_and_groups_are_those_of_all_against_all(threshold):
    vectors = unit_rows(40, 4, seed=1)
    pairs = find_pairs(*neighbors(vectors, 39)).above(threshold)
    expected = {
        (i, j) for i, j in combinations(range(40), 2) if vectors[i] @ vectors[j] >= threshold
    }
    assert expected
    assert set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == expected
    assert (np.diff(pairs.cosines) <= 0).all()
    groups = {frozenset(rows.tolist()) for rows in group_rows(pairs.groups())}
    assert groups == {frozenset(group) for group in slow_groups(vectors, threshold)}


def test_a_pair_that_only_one_side_has_among_its_nearest_counts():
    rows, cosines = np.array([[1], [2], [1], [-1]]), np.array([[0.9], [0.95], [0.95], [0.0]])
    pairs = find_pairs(cosines, rows)
    found = list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    assert found == [(1, 2), (0, 1)]


def test_levels_by_hand():
    # 0 - 1 - 2 connected at 0.9, 3 - 4 at 0.7, 5 alone.
    pairs = Pairs(
        np.array([0, 1, 3]), np.array([1, 2, 4]), np.array([0.95, 0.9, 0.7], dtype=np.float32), 6
    )
    strict, middle, loose = levels(pairs, (0.6, 0.9, 0.99))
    assert (strict.threshold, strict.pairs, strict.groups, strict.removed) == (0.99, 0, 0, 0)
    # 1 repeats 0; 2 repeats 1 only, which goes, so it stays.
    assert (middle.pairs, middle.groups, middle.removed, middle.largest) == (2, 1, 1, 3)
    assert (loose.pairs, loose.groups, loose.removed, loose.largest) == (3, 2, 2, 3)
    assert pairs.kept().tolist() == [True, False, True, True, False, True]


@pytest.mark.parametrize("threshold", [0.95, 0.8, 0.5, -1])
def test_what_is_dropped_is_alike_to_an_earlier_one_that_stays(threshold):
    vectors = unit_rows(200, 4, seed=2)
    pairs = find_pairs(*neighbors(vectors, 199)).above(threshold)
    stays: list[int] = []
    for row, vector in enumerate(vectors):
        if not any(vectors[other] @ vector >= threshold for other in stays):
            stays.append(row)
    assert 1 <= len(stays) < 200
    assert np.flatnonzero(pairs.kept()).tolist() == stays


def test_equal_lines_are_pairs_and_join_the_groups_of_their_sentence():
    # Lines: a b a c a b; sentences: a 0, b 1, c 2; b and c are alike.
    sentences = Pairs(np.array([1]), np.array([2]), np.array([0.8], dtype=np.float32), 3)
    lines = line_pairs(sentences, [0, 1, 0, 2, 0, 1])
    found = set(zip(lines.first.tolist(), lines.second.tolist(), strict=True))
    assert found == {(0, 2), (0, 4), (1, 5), (1, 3)}
    assert [rows.tolist() for rows in group_rows(lines.groups())] == [[0, 2, 4], [1, 3, 5]]
    assert [rows.tolist() for rows in group_rows(lines.above(0.9).groups())] == [[0, 2, 4], [1, 5]]
