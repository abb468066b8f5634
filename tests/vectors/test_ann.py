from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clusterns.vectors import ann
from clusterns.vectors.ann import TARGET_RECALL, InvertedFile, neighbors_in_lists
from clusterns.vectors.nearest import all_nearest, nearest, unit

LISTS = 12


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


@pytest.fixture
def vectors() -> np.ndarray:
    found = unit(np.random.default_rng(0).normal(size=(300, 6)))
    found[250:260] = found[10:20]  # equal ones
    return found


def in_lists(vectors: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Centroids drawn from the vectors, one of which nobody is nearest to, and their members."""
    centroids = np.vstack([vectors[::25], np.zeros((1, vectors.shape[1]), dtype=np.float32)])
    of = np.argmax(vectors @ centroids.T, axis=1)
    assert not (of == LISTS).any()
    return centroids, [np.flatnonzero(of == number) for number in range(len(centroids))]


def slowly(vectors: np.ndarray, probes: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Vector by vector, all that lie in the lists it looks into."""
    centroids, members = in_lists(vectors)
    scores, rows = np.full((len(vectors), k), -np.inf), np.full((len(vectors), k), -1)
    for row, vector in enumerate(vectors):
        lists = np.argsort(-(centroids @ vector), kind="stable")[:probes]
        others = np.concatenate([members[number] for number in lists])
        others = others[others != row]
        cosines = vectors[others] @ vector
        best = np.lexsort((others, -cosines))[:k]
        scores[row, : len(best)], rows[row, : len(best)] = cosines[best], others[best]
    return scores, rows


@pytest.mark.parametrize("probes", [1, 2, 5, 9, 13])
@pytest.mark.parametrize("together", [1000, 70])
def test_finds_what_a_walk_through_the_lists_finds(
    vectors: np.ndarray, probes: int, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ann, "NEIGHBORS_BLOCK", together)
    scores, rows = neighbors_in_lists(vectors, *in_lists(vectors), probes, 7, progress=False)
    expected, expected_rows = slowly(vectors, probes, 7)
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    assert ((rows < 0) == (expected_rows < 0)).all()
    found = rows >= 0
    cosines = np.einsum("nd,nkd->nk", vectors, vectors[rows])
    np.testing.assert_allclose(cosines[found], scores[found], atol=1e-6)
    assert not (rows == np.arange(len(vectors))[:, None]).any()


def test_all_lists_give_exact_search(vectors: np.ndarray) -> None:
    scores, _ = neighbors_in_lists(vectors, *in_lists(vectors), LISTS + 1, 10, progress=False)
    np.testing.assert_allclose(scores, all_nearest(vectors, 10, False)[0], atol=1e-6)


def test_there_are_no_more_neighbors_than_others() -> None:
    three = np.eye(3, dtype=np.float32)
    everyone = [np.arange(3)]
    scores, rows = neighbors_in_lists(three, three[:1], everyone, 1, 10, progress=False)
    assert scores.tolist() == [[0, 0]] * 3
    assert rows.tolist() == [[1, 2], [0, 2], [0, 1]]
