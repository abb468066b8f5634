from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr, ttest_rel

from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.stats import (
    bootstrap,
    generator,
    holm,
    interval,
    mean_measure,
    spearman_measure,
)

RANDOM = np.random.default_rng(0)
GOLD = RANDOM.integers(0, 11, size=400) / 2
ANSWERS = np.column_stack([RANDOM.normal(size=400), np.round(GOLD) + RANDOM.normal(size=400)])


def test_spearman_of_counts_equals_scipy_on_the_drawn_rows() -> None:
    answers = np.column_stack([ANSWERS, np.round(ANSWERS[:, 1]), np.ones(400)])
    measure = spearman_measure(answers, GOLD)
    for drawn in (np.arange(400), *RANDOM.integers(400, size=(5, 400))):
        counts = np.bincount(drawn, minlength=400).astype(float)
        expected = [100 * spearmanr(answers[drawn, i], GOLD[drawn]).statistic for i in range(3)]
        np.testing.assert_allclose(measure(counts), [*expected, 0], atol=1e-9)


def test_models_are_measured_on_the_same_resamples() -> None:
    measure = spearman_measure(ANSWERS[:, [0, 0]], GOLD)
    sample = bootstrap(measure, 400, 50, generator(7, "sts/a"))
    np.testing.assert_array_equal(sample[:, 0], sample[:, 1])
    np.testing.assert_array_equal(sample, bootstrap(measure, 400, 50, generator(7, "sts/a")))
    assert sample[1:, 0].std() > 0
    assert sample[0, 0] == pytest.approx(100 * spearmanr(ANSWERS[:, 0], GOLD).statistic)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1, 1]
    assert holm([]) == []


def test_interval_is_that_of_a_paired_t_test_on_a_mean() -> None:
    right = (np.random.default_rng(3).random((200, 2)) < (0.7, 0.6)).astype(float)
    sample = bootstrap(mean_measure(right), 200, 4000, generator(0, "a"))
    gaps = sample[:, 0] - sample[:, 1]
    exact = ttest_rel(*(100 * right.T))
    for comparisons in (1, 20):
        expected = tuple(exact.confidence_interval(1 - 0.05 / comparisons))
        assert interval(gaps, 200, comparisons) == pytest.approx(expected, rel=0.1, abs=0.5)
    assert interval(np.zeros(101), 200) == (0, 0)


def test_pairs_cluster_by_shared_sentences() -> None:
    first, second = ["a", "c", "x", "b", "y"], ["b", "d", "y", "e", "y"]
    pairs = ScoredPairs(first, second, np.arange(5.0))
    assert pairs.clusters.tolist() == [0, 1, 2, 0, 2]
