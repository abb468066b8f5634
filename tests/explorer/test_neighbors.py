from __future__ import annotations

import numpy as np

from clusterns.explorer.neighbors import compare_neighbors, count_shared, mark_changes


def test_shared_neighbors_are_counted_as_sets_are():
    generator = np.random.default_rng(0)
    first, second = (
        np.array([generator.permutation(30)[:10] for _ in range(200)]) for _ in range(2)
    )
    first[:20, 7:] = second[:20, 5:8] = -1  # not found by an approximate search
    expected = [
        len((set(a) & set(b)) - {-1}) for a, b in zip(first.tolist(), second.tolist(), strict=True)
    ]
    assert len(set(expected)) > 3
    assert count_shared(first, second).tolist() == expected


def test_the_most_changed_come_first_and_a_tie_is_broken_by_how_far_the_old_ones_fell():
    vectors = np.array([[1, 0], [0.9, 0.436], [0.8, 0.6], [0, 1], [-1, 0]], dtype=np.float32)
    now = np.array([[1], [0], [1], [2], [3]])
    before = np.array([[1], [2], [3], [4], [0]])
    change = compare_neighbors(now, before, vectors)
    assert change.k == 1
    assert change.shared.tolist() == [1, 0, 0, 0, 0]
    assert change.histogram == [4, 1]
    # Row 4: the new neighbour has cosine 0, the old one -1; row 3: .6 and 0; row 2: .98 and .6;
    # row 1: .9 and .98.
    assert change.order == [4, 3, 2, 1, 0]


def test_marks():
    assert mark_changes([1, 2, 3], [3, 4]) == (["gained", "gained", "kept"], ["kept", "lost"])
