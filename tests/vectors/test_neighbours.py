from __future__ import annotations

import numpy as np
import pytest

from clusterns.vectors import neighbours as module
from clusterns.vectors.nearest import all_nearest, unit
from clusterns.vectors.neighbours import neighbours_in_lists

LISTS = 12


@pytest.fixture
def vectors() -> np.ndarray:
    found = unit(np.random.default_rng(0).normal(size=(300, 6)))
    found[250:260] = found[10:20]  # equal ones
    return found


def in_lists(vectors: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Centroids drawn from the vectors, one of which nobody is nearest to, and their members."""
    middles = np.vstack([vectors[::25], np.zeros((1, vectors.shape[1]), dtype=np.float32)])
    of = np.argmax(vectors @ middles.T, axis=1)
    assert not (of == LISTS).any()
    return middles, [np.flatnonzero(of == number) for number in range(len(middles))]


def slowly(vectors: np.ndarray, probes: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Vector by vector, all that lie in the lists it looks into."""
    middles, members = in_lists(vectors)
    scores, rows = np.full((len(vectors), k), -np.inf), np.full((len(vectors), k), -1)
    for row, vector in enumerate(vectors):
        lists = np.argsort(-(middles @ vector), kind="stable")[:probes]
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
    monkeypatch.setattr(module, "TOGETHER", together)
    scores, rows = neighbours_in_lists(vectors, *in_lists(vectors), probes, 7, progress=False)
    expected, expected_rows = slowly(vectors, probes, 7)
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    assert ((rows < 0) == (expected_rows < 0)).all()
    found = rows >= 0
    cosines = np.einsum("nd,nkd->nk", vectors, vectors[rows])
    np.testing.assert_allclose(cosines[found], scores[found], atol=1e-6)
    assert not (rows == np.arange(len(vectors))[:, None]).any()


def test_all_lists_give_exact_search(vectors: np.ndarray) -> None:
    scores, _ = neighbours_in_lists(vectors, *in_lists(vectors), LISTS + 1, 10, progress=False)
    np.testing.assert_allclose(scores, all_nearest(vectors, 10, False)[0], atol=1e-6)


def test_there_are_no_more_neighbours_than_others() -> None:
    three = np.eye(3, dtype=np.float32)
    everyone = [np.arange(3)]
    scores, rows = neighbours_in_lists(three, three[:1], everyone, 1, 10, progress=False)
    assert scores.tolist() == [[0, 0]] * 3
    assert rows.tolist() == [[1, 2], [0, 2], [0, 1]]
