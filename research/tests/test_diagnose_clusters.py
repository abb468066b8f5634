"""What is said of clusters whose classes are known, by hand."""

from __future__ import annotations

import math
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from clusterns.losses.clusterns import Clustering
from clusterns.methods.clusterns import ClusteringSettings

SCRIPT = Path(__file__).parents[1] / "diagnose_clusters.py"


@pytest.fixture(scope="module")
def look() -> Callable[..., dict[str, float]]:
    found: Callable[..., dict[str, float]] = runpy.run_path(str(SCRIPT))["look"]
    return found


def test_three_sentences_and_two_centroids(look: Callable[..., dict[str, float]]) -> None:
    part = Clustering(ClusteringSettings(clusters=2), 2)
    part.start(torch.eye(2))
    # Two near the first centroid, of two classes; one on the second, of the class of the first sentence.
    anchors = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    seen = look(anchors, torch.tensor([0, 1, 0]), part, temperature=1.0)
    assert seen["same_class"] == pytest.approx(100 * 2 / 6)
    assert seen["found"] == pytest.approx(100 * 2 / 3)
    assert seen["precision"] == 0
    assert seen["recall"] == 0
    assert seen["hard_negative"] == pytest.approx((0 + 0.6 + 0) / 3)
    # Pairs of two classes: 0.8 and 0.6, in both directions.
    assert seen["mean_negative"] == pytest.approx(0.7)
    assert seen["hardest_negative"] == pytest.approx((0.8 + 0.8 + 0.6) / 3)
    # Each sees the second centroid twice and the first once, beside the two other sentences.
    e = math.exp
    shares = [
        (2 * e(0) + e(1)) / (2 * e(0) + e(1) + e(0.8) + e(0)),
        (2 * e(0.6) + e(0.8)) / (2 * e(0.6) + e(0.8) + e(0.8) + e(0.6)),
        (2 * e(1) + e(0)) / (2 * e(1) + e(0) + e(0.6) + e(0)),
    ]
    assert seen["share_of_denominator"] == pytest.approx(100 * sum(shares) / 3)


def test_clusters_that_are_the_classes(look: Callable[..., dict[str, float]]) -> None:
    part = Clustering(ClusteringSettings(clusters=2), 2)
    part.start(torch.eye(2))
    anchors = torch.tensor([[1.0, 0.1], [0.9, 0.2], [0.1, 1.0], [0.2, 0.9]])
    seen = look(anchors, torch.tensor([3, 3, 5, 5]), part, temperature=0.05)
    for name in ("ami", "found", "precision", "recall"):
        assert seen[name] == pytest.approx(100)
