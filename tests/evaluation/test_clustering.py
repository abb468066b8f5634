from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from clusterns.errors import UserError
from clusterns.evaluation.clustering import (
    adjusted_mutual_information,
    cluster,
    cluster_seeds,
    hungarian_accuracy,
)


def test_accuracy_is_the_best_over_all_namings() -> None:
    random = np.random.default_rng(0)
    truth, clusters = random.integers(4, size=50), random.integers(4, size=50)
    best = max(
        float(np.mean(truth == np.array(names)[clusters])) for names in permutations(range(4))
    )
    assert hungarian_accuracy(truth, clusters) == pytest.approx(best)


def test_accuracy_with_fewer_clusters_than_classes() -> None:
    assert hungarian_accuracy(np.array([0, 0, 1, 2]), np.array([1, 1, 0, 0])) == 0.75


def test_mutual_information_of_equal_and_of_random_labels() -> None:
    random = np.random.default_rng(0)
    truth = random.integers(3, size=600)
    assert adjusted_mutual_information(truth, 2 - truth) == pytest.approx(1)
    assert abs(adjusted_mutual_information(truth, random.integers(3, size=600))) < 0.02


def test_clear_clusters_are_found_by_every_seed() -> None:
    random = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 30)
    vectors = (10 * np.eye(3)[truth] + random.normal(size=(90, 3))).astype(np.float32)
    for found in cluster_seeds(vectors, 3, range(3)):
        assert hungarian_accuracy(truth, found) > 0.95
    np.testing.assert_array_equal(cluster(vectors, 3, 1), cluster(vectors, 3, 1))


def test_more_clusters_than_texts() -> None:
    with pytest.raises(UserError, match="2 texts cannot make 3 clusters"):
        cluster(np.ones((2, 2), dtype=np.float32), 3, 0)
