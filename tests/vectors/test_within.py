"""Whitening within documents, against plain loops and values by hand."""

from __future__ import annotations

import numpy as np

from clusterns.vectors.nearest import unit
from clusterns.vectors.within import whitened_within


def test_a_direction_that_differs_within_documents_counts_less() -> None:
    # Two documents: the first number says which, the second differs within.
    vectors = np.float32([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    found = whitened_within(vectors, np.array([5, 5, 3, 3]), shrinkage=0.5)
    # All variance is in the second direction: scaled to a mean of 1 it is 2, so it shrinks by
    # sqrt(2.5) where the first one grows by 1 / sqrt(0.5).
    by_hand = np.array([[np.sqrt(2), np.sqrt(0.4)]]) * np.sign(vectors)
    np.testing.assert_allclose(found, by_hand / np.sqrt(2.4), rtol=1e-6)


def test_it_equals_plain_loops() -> None:
    random = np.random.default_rng(0)
    vectors = unit(random.standard_normal((40, 5)).astype(np.float32))
    documents = random.integers(0, 15, 40)
    assert min(np.bincount(documents)[np.bincount(documents) > 0]) == 1, "none is alone"
    within = np.zeros((5, 5))
    for row in range(40):
        others = [vectors[other] for other in range(40) if documents[other] == documents[row]]
        if len(others) > 1:
            apart = (vectors[row] - np.mean(others, 0)).astype(np.float64)
            within += np.outer(apart, apart)
    metric = np.linalg.inv(within * 5 / np.trace(within) + 0.3 * np.eye(5))
    found = whitened_within(vectors, documents, shrinkage=0.3)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-6)
    # Its cosines are those of the inverse covariance.
    products = vectors @ metric @ vectors.T
    lengths = np.sqrt(np.diag(products))
    np.testing.assert_allclose(found @ found.T, products / np.outer(lengths, lengths), atol=1e-5)


def test_where_nothing_differs_within_documents_all_stays() -> None:
    vectors = unit(np.random.default_rng(2).standard_normal((6, 3)).astype(np.float32))
    for texts, documents in (
        (vectors, np.arange(6)),
        (vectors[[0, 0, 1, 1]], np.array([3, 3, 4, 4])),
    ):
        np.testing.assert_allclose(
            whitened_within(texts, documents, shrinkage=0.1), texts, atol=1e-6
        )


def test_much_shrinkage_leaves_them_as_they_are() -> None:
    vectors = unit(np.random.default_rng(1).standard_normal((12, 3)).astype(np.float32))
    documents = np.arange(12) // 3
    np.testing.assert_allclose(
        whitened_within(vectors, documents, shrinkage=1e8), vectors, atol=1e-6
    )
    assert np.abs(whitened_within(vectors, documents, shrinkage=0.1) - vectors).max() > 0.05
