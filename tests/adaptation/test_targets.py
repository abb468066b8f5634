"""The targets of both purposes against plain loops and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from clusterns.adaptation.settings import TopicSettings
from clusterns.adaptation.targets import smooth, within_document_whitening
from clusterns.vectors.nearest import unit

ONE_NEIGHBOR = TopicSettings(base="", neighbors=1, centroid_weight=0)


def by_hand(
    vectors: np.ndarray, k: int, power: float, clusters: int, pull: float, temperature: float
) -> np.ndarray:
    rows = [v / np.linalg.norm(v) for v in vectors.astype(np.float64)]
    centroids = KMeans(clusters, n_init=1, random_state=5).fit(unit(vectors)).cluster_centers_
    centroids = [c / np.linalg.norm(c) for c in centroids.astype(np.float64)]
    found = []
    for i, own in enumerate(rows):
        others = sorted(((own @ o, j) for j, o in enumerate(rows) if j != i), reverse=True)[:k]
        weights = [max(score, 0) ** power for score, _ in others]
        mean = sum(w * rows[j] for w, (_, j) in zip(weights, others, strict=True)) / sum(weights)
        target = (own + mean) / np.linalg.norm(own + mean)
        shares = np.array([np.exp(own @ c / temperature) for c in centroids])
        topic = sum(s * c for s, c in zip(shares / shares.sum(), centroids, strict=True))
        target = target + pull * topic
        found.append(target / np.linalg.norm(target))
    return np.array(found)


def groups(seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    centroids = random.normal(size=(4, 8))
    return (np.repeat(centroids, 15, axis=0) + 0.5 * random.normal(size=(60, 8))).astype(np.float32)


@pytest.mark.parametrize(("k", "power", "pull"), [(3, 3.0, 0.5), (10, 1.0, 2.0), (5, 0.0, 0.0)])
def test_equals_plain_loops(k: int, power: float, pull: float) -> None:
    settings = TopicSettings(
        base="", neighbors=k, similarity_power=power, clusters=6, centroid_weight=pull,
        centroid_temperature=0.1, seed=5,
    )  # fmt: skip
    found = smooth(groups(), settings)
    expected = by_hand(groups(), k, power, 6, pull, 0.1)
    np.testing.assert_allclose(found, expected, atol=2e-6)
    assert np.abs(found - unit(groups())).max() > 0.05, "nothing was smoothed"


def test_two_neighbors_by_hand() -> None:
    # At right angles to nothing: each moves halfway to the other.
    vectors = np.array([[1.0, 0.0], [0.6, 0.8]], dtype=np.float32)
    found = smooth(vectors, ONE_NEIGHBOR)
    np.testing.assert_allclose(found, [[1.6, 0.8], [1.6, 0.8]] / np.sqrt(3.2), atol=1e-6)


def test_a_text_without_neighbors_stays() -> None:
    vectors = np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    np.testing.assert_array_equal(smooth(vectors, ONE_NEIGHBOR), vectors)
    nothing = TopicSettings(base="", neighbors=0, centroid_weight=0)
    np.testing.assert_allclose(smooth(groups(), nothing), unit(groups()))


def test_a_direction_in_which_titles_differ_counts_less() -> None:
    # The first number says which document it is; titles and bodies differ in the second.
    vectors = np.float32([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    found = within_document_whitening(vectors, vectors[::2], vectors[1::2], shrinkage=0.5)
    # All variance is in the second direction: scaled to a mean of 1 it is 2, so it shrinks by
    # sqrt(2.5) while the first one grows by 1 / sqrt(0.5).
    by_hand = np.array([[np.sqrt(2), np.sqrt(0.4)]]) * np.sign(vectors)
    np.testing.assert_allclose(found, by_hand / np.sqrt(2.4), rtol=1e-6)


def test_whitening_equals_plain_loops() -> None:
    random = np.random.default_rng(0)
    vectors, titles, bodies = (
        unit(random.standard_normal((n, 5)).astype(np.float32)) for n in (40, 15, 15)
    )
    within = np.zeros((5, 5))
    for title, body in zip(titles, bodies, strict=True):
        apart = (title - body).astype(np.float64)
        within += np.outer(apart, apart)
    metric = np.linalg.inv(within * 5 / np.trace(within) + 0.3 * np.eye(5))
    found = within_document_whitening(vectors, titles, bodies, shrinkage=0.3)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-6)
    # Its cosines are those of the inverse covariance.
    products = vectors @ metric @ vectors.T
    lengths = np.sqrt(np.diag(products))
    np.testing.assert_allclose(found @ found.T, products / np.outer(lengths, lengths), atol=1e-5)


def test_without_differences_or_with_much_shrinkage_nothing_moves() -> None:
    random = np.random.default_rng(2)
    vectors, others = (unit(random.standard_normal((12, 3)).astype(np.float32)) for _ in range(2))
    same = within_document_whitening(vectors, others, others, shrinkage=0.1)
    np.testing.assert_allclose(same, vectors, atol=1e-6)
    much = within_document_whitening(vectors, vectors, others, shrinkage=1e8)
    np.testing.assert_allclose(much, vectors, atol=1e-6)
    little = within_document_whitening(vectors, vectors, others, shrinkage=0.1)
    assert np.abs(little - vectors).max() > 0.05
