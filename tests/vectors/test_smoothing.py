"""Smoothed vectors against plain loops and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from clusterns.vectors.nearest import unit
from clusterns.vectors.smoothing import smoothed


def by_hand(
    vectors: np.ndarray, k: int, power: float, clusters: int, pull: float, temperature: float
) -> np.ndarray:
    rows = [v / np.linalg.norm(v) for v in vectors.astype(np.float64)]
    centres = KMeans(clusters, n_init=1, random_state=5).fit(unit(vectors)).cluster_centers_
    centres = [c / np.linalg.norm(c) for c in centres.astype(np.float64)]
    found = []
    for i, own in enumerate(rows):
        others = sorted(((own @ o, j) for j, o in enumerate(rows) if j != i), reverse=True)[:k]
        weights = [max(score, 0) ** power for score, _ in others]
        mean = sum(w * rows[j] for w, (_, j) in zip(weights, others, strict=True)) / sum(weights)
        target = (own + mean) / np.linalg.norm(own + mean)
        shares = np.array([np.exp(own @ c / temperature) for c in centres])
        topic = sum(s * c for s, c in zip(shares / shares.sum(), centres, strict=True))
        target = target + pull * topic
        found.append(target / np.linalg.norm(target))
    return np.array(found)


def groups(seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    centres = random.normal(size=(4, 8))
    return (np.repeat(centres, 15, axis=0) + 0.5 * random.normal(size=(60, 8))).astype(np.float32)


@pytest.mark.parametrize(("k", "power", "pull"), [(3, 3.0, 0.5), (10, 1.0, 2.0), (5, 0.0, 0.0)])
def test_equals_plain_loops(k: int, power: float, pull: float) -> None:
    found = smoothed(
        groups(), neighbours=k, power=power, clusters=6, pull=pull, temperature=0.1, seed=5
    )
    expected = by_hand(groups(), k, power, 6, pull, 0.1)
    np.testing.assert_allclose(found, expected, atol=2e-6)
    assert np.abs(found - unit(groups())).max() > 0.05, "nothing was smoothed"


def test_two_neighbours_by_hand() -> None:
    # At right angles to nothing: each moves halfway to the other.
    vectors = np.array([[1.0, 0.0], [0.6, 0.8]], dtype=np.float32)
    found = smoothed(vectors, neighbours=1, pull=0)
    np.testing.assert_allclose(found, [[1.6, 0.8], [1.6, 0.8]] / np.sqrt(3.2), atol=1e-6)


def test_a_text_without_neighbours_stays() -> None:
    vectors = np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    np.testing.assert_array_equal(smoothed(vectors, neighbours=1, pull=0), vectors)
    np.testing.assert_allclose(smoothed(groups(), neighbours=0, pull=0), unit(groups()))


def test_groups_draw_together() -> None:
    def spread(vectors: np.ndarray) -> float:
        return float(np.mean([v @ v.T for v in unit(vectors).reshape(4, 15, 8)]))

    assert spread(smoothed(groups(), neighbours=5, clusters=4)) > spread(groups()) + 0.05
