from __future__ import annotations

import numpy as np
import pytest

from clusterns.vectors import nearest as nearest_module
from clusterns.vectors.nearest import all_nearest, nearest, unit

GENERATOR = np.random.default_rng(0)


def slow(queries: np.ndarray, vectors: np.ndarray, k: int, own: np.ndarray | None = None) -> tuple:
    """One query and one vector at a time."""
    scores, rows = [], []
    for number, query in enumerate(queries):
        found = [
            (-float(np.dot(query.astype(float), vector.astype(float))), row)
            for row, vector in enumerate(vectors)
            if own is None or row != own[number]
        ]
        scores.append([-score for score, _ in sorted(found)[:k]])
        rows.append([row for _, row in sorted(found)[:k]])
    return np.array(scores), np.array(rows)


@pytest.mark.parametrize("cells", [1, 64, 1 << 23])
@pytest.mark.parametrize("k", [1, 7, 40, 100])
def test_against_one_at_a_time(cells, k, monkeypatch):
    monkeypatch.setattr(nearest_module, "MAX_ELEMENTS", cells)
    monkeypatch.setattr(nearest_module, "QUERY_BLOCK", 5)
    vectors = unit(GENERATOR.normal(size=(40, 6)))
    queries = unit(GENERATOR.normal(size=(12, 6)))
    scores, rows = nearest(queries, vectors, k)
    expected = slow(queries, vectors, k)
    np.testing.assert_allclose(scores, expected[0], atol=1e-6)
    np.testing.assert_array_equal(rows, expected[1])
    scores, rows = all_nearest(vectors, k, progress=False)
    expected = slow(vectors, vectors, k, np.arange(40))
    np.testing.assert_allclose(scores, expected[0], atol=1e-6)
    np.testing.assert_array_equal(rows, expected[1])


def test_unit_vectors_and_zero():
    np.testing.assert_allclose(unit(np.array([[3.0, 4.0], [0, 0]])), [[0.6, 0.8], [0, 0]])
