from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clusterns.vectors import nearest as nearest_module
from clusterns.vectors.approximate import ENOUGH, InvertedFile
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
def test_against_one_at_a_time(cells: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest_module, "CELLS", cells)
    monkeypatch.setattr(nearest_module, "QUERIES", 5)
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


def test_unit_vectors_and_zero() -> None:
    np.testing.assert_allclose(unit(np.array([[3.0, 4.0], [0, 0]])), [[0.6, 0.8], [0, 0]])


def clustered(count: int, seed: int = 0) -> np.ndarray:
    """Unit vectors around 30 centres, the same ones for every count."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(30, 16))
    return unit(centres[generator.integers(30, size=count)] + generator.normal(size=(count, 16)))


@pytest.mark.parametrize("seed", range(4))
def test_an_inverted_file_finds_what_it_says(seed: int, tmp_path: Path) -> None:
    # The last 200 are other queries than those it was measured on.
    vectors, queries = np.split(clustered(5200, seed), [5000])
    made = InvertedFile.build(vectors, progress=False)
    assert made.recall.recall >= ENOUGH
    assert 1 <= made.recall.probes <= made.recall.lists // 2
    facts = made.save(tmp_path / "lists")
    again = InvertedFile.load(tmp_path / "lists", vectors, facts)
    assert again.recall == made.recall
    exact, rows = nearest(queries, vectors, 10)
    for index in (made, again):
        scores, found = index.search(queries, 10)
        overlap = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found, rows, strict=True)])
        assert overlap > 0.95
        same = found == rows
        np.testing.assert_allclose(scores[same], exact[same], atol=1e-6)
        assert (np.diff(scores, axis=1) <= 0).all()


def test_an_inverted_file_leaves_out_the_query_itself() -> None:
    vectors = clustered(2000)
    vectors[1] = vectors[0]  # its twin is an answer
    made = InvertedFile.build(vectors, progress=False)
    scores, rows = made.search(vectors, 5, np.arange(2000))
    assert not (rows == np.arange(2000)[:, None]).any()
    assert (rows[0, 0], rows[1, 0]) == (1, 0)
    assert scores[0, 0] == pytest.approx(1, abs=1e-5)


def test_what_few_lists_do_not_hold_is_said_to_be_missing() -> None:
    made = InvertedFile.build(clustered(2000), progress=False)
    made.index.nprobe = 1
    scores, rows = made.search(clustered(3), 1500)
    assert (rows[:, -1] == -1).all()
    assert np.isneginf(scores[:, -1]).all()
