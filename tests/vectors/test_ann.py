from __future__ import annotations

import numpy as np
import pytest

from clusterns.vectors.ann import TARGET_RECALL, InvertedFile
from clusterns.vectors.nearest import all_nearest, nearest, unit


def clustered(count: int, seed: int = 0) -> np.ndarray:
    """Unit vectors around 30 centers, the same ones for every count."""
    generator = np.random.default_rng(seed)
    centers = generator.normal(size=(30, 16))
    return unit(centers[generator.integers(30, size=count)] + generator.normal(size=(count, 16)))


@pytest.mark.parametrize("seed", range(3))
def test_an_inverted_file_finds_what_it_says(seed, tmp_path):
    # The last 200 are other queries than those it was measured on.
    vectors, queries = np.split(clustered(5200, seed), [5000])
    made = InvertedFile.build(vectors, progress=False)
    assert made.recall.recall >= TARGET_RECALL
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


def test_the_query_itself_is_left_out_and_what_few_lists_lack_is_missing():
    vectors = clustered(2000)
    vectors[1] = vectors[0]  # its twin is an answer
    made = InvertedFile.build(vectors, progress=False)
    scores, rows = made.search(vectors, 5, np.arange(2000))
    assert not (rows == np.arange(2000)[:, None]).any()
    assert (rows[0, 0], rows[1, 0]) == (1, 0)
    assert scores[0, 0] == pytest.approx(1, abs=1e-5)
    made.index.nprobe = 1
    scores, rows = made.search(clustered(3), 1500)
    assert (rows[:, -1] == -1).all()
    assert np.isneginf(scores[:, -1]).all()


@pytest.mark.parametrize("seed", range(3))
def test_neighbors_of_all_are_nearly_those_of_exact_search(seed):
    vectors = clustered(3000, seed)
    vectors[250:260] = vectors[10:20]  # equal ones
    scores, rows, recall = InvertedFile.build(vectors, False).neighbors(15, progress=False)
    exact, _ = all_nearest(vectors, 15, False)
    assert not (rows == np.arange(3000)[:, None]).any()
    np.testing.assert_allclose(np.einsum("nd,nkd->nk", vectors, vectors[rows]), scores, atol=1e-5)
    assert (np.diff(scores, axis=1) <= 0).all()
    found = np.mean(scores[:, :10] >= exact[:, 9:10] - 1e-5)
    assert found > 0.98
    assert recall == pytest.approx(found, abs=0.01)


def test_few_neighbors_are_all_the_others():
    vectors = np.eye(3, dtype=np.float32)
    scores, rows, recall = InvertedFile.build(vectors, False).neighbors(10, progress=False)
    assert scores.tolist() == [[0, 0]] * 3
    assert [sorted(row) for row in rows.tolist()] == [[1, 2], [0, 2], [0, 1]]
    assert recall == 1
