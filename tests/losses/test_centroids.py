from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from clusterns.losses.clusterns import Clustering, make_clustering
from clusterns.losses.functional import (
    bidirectional_margin,
    cosine_matrix,
    farthest_chain,
    info_nce,
    mean_in_batch_similarity,
)
from clusterns.methods.clusterns import ClusteringSettings


def started(centroids: Tensor, **settings: Any) -> Clustering:
    chosen = ClusteringSettings(clusters=len(centroids), **settings)
    part = make_clustering(chosen, centroids.shape[1])
    part.start(centroids)
    return part


def test_update_moves_only_the_clusters_that_have_members() -> None:
    part = started(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]), momentum=0.25)
    part.update(torch.tensor([[2.0, 0.0], [4.0, 0.4]]))
    # Members of the first: mean (3, 0.2); a quarter of the way from (1, 0).
    expected = torch.tensor([[1.5, 0.05], [0.0, 1.0], [-1.0, -1.0]])
    torch.testing.assert_close(part.centroids, expected)


def test_the_released_code_adds_the_sum() -> None:
    start = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    part = started(start, momentum=0.25, variant="released")
    part.update(torch.tensor([[2.0, 0.0], [4.0, 0.4]]))
    torch.testing.assert_close(part.centroids[0], torch.tensor([0.75 + 0.25 * 6, 0.25 * 0.4]))


def test_nearest_and_second_with_ties_are_two_different_centroids() -> None:
    similarities, nearest, second = started(torch.ones(3, 2)).neighbors(torch.ones(4, 2))
    assert (nearest != second).all()
    torch.testing.assert_close(similarities, torch.ones(4, 3))


def test_no_gradient_reaches_the_centroids_and_some_the_samples() -> None:
    part = started(torch.randn(3, 2))
    samples = torch.randn(4, 2, requires_grad=True)
    part.neighbors(samples)[0].sum().backward()
    assert samples.grad.abs().sum() > 0
    assert part.centroids.grad is None


def test_the_chain_takes_the_least_similar_to_the_last_each_once() -> None:
    similarities = torch.tensor(
        [[1.0, 0.2, 0.9, 0.5], [0.2, 1.0, 0.1, 0.3], [0.9, 0.1, 1.0, 0.4], [0.5, 0.3, 0.4, 1.0]]
    )
    # From 0: least similar 1; from 1: 2 (0.1); from 2: of 3 alone.
    assert farthest_chain(similarities, 4, first=0).tolist() == [0, 1, 2, 3]
    assert farthest_chain(similarities, 3, first=3).tolist() == [3, 1, 2]


def test_the_chain_over_equal_rows_takes_each_once() -> None:
    assert sorted(farthest_chain(torch.ones(5, 5), 5, first=2).tolist()) == [0, 1, 2, 3, 4]


def test_the_chain_stays_on_the_device_of_the_batch() -> None:
    # Another device than the processor's, on which nothing is computed.
    assert farthest_chain(torch.ones(4, 4, device="meta"), 3, first=1).device.type == "meta"


@pytest.mark.parametrize("started_at", [None, 0, 1])
def test_counters_survive_whenever_clustering_started(started_at: int | None) -> None:
    part, other = Clustering(ClusteringSettings(clusters=2), 2), started(torch.eye(2))
    part.step, part.started_at = 4, started_at
    other.load_state_dict(part.state_dict())
    assert (other.step, other.started_at) == (4, started_at)
    assert torch.equal(other.centroids, torch.zeros(2, 2))


def test_cosine_matrix_by_hand() -> None:
    a, b = torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0, 0.0], [0.0, -2.0], [6.0, 8.0]])
    torch.testing.assert_close(cosine_matrix(a, b), torch.tensor([[0.6, -0.8, 1.0]]))


@pytest.mark.parametrize("diagonal", [False, True])
def test_mean_similarity_equals_the_mean_of_the_matrix(diagonal: bool) -> None:
    a, p = torch.randn(7, 3), torch.randn(7, 3)
    matrix = cosine_matrix(a, p)
    cells = matrix.flatten() if diagonal else matrix[~torch.eye(7, dtype=torch.bool)]
    found = mean_in_batch_similarity(a, p, diagonal)
    torch.testing.assert_close(found, cells.mean(), atol=1e-6, rtol=1e-5)


def test_info_nce_by_hand() -> None:
    similarities = torch.tensor([[0.5, 0.0], [0.1, 0.3]])
    found = info_nce(similarities, torch.tensor([0, 1]), temperature=0.1)
    expected = [
        torch.tensor([5.0, 0.0]).logsumexp(0) - 5,
        torch.tensor([1.0, 3.0]).logsumexp(0) - 3,
    ]
    torch.testing.assert_close(found, torch.stack(expected))


def test_a_weighted_negative_counts_as_often_as_its_weight() -> None:
    similarities, negatives = torch.randn(3, 3), torch.randn(3, 2)
    targets = torch.arange(3)
    weighted = info_nce(
        similarities, targets, 0.5, negatives=negatives, negative_weights=torch.tensor([2.0, 0.0])
    )
    repeated = info_nce(similarities, targets, 0.5, negatives=negatives[:, [0, 0]])
    torch.testing.assert_close(weighted, repeated)


@pytest.mark.parametrize(
    ("delta", "expected"), [(-0.2, 0.0), (-0.1, 0.0), (-0.3, 0.0), (0.0, 0.1), (-0.5, 0.2)]
)
def test_the_margin_holds_delta_between_minus_beta_and_minus_alpha(
    delta: float, expected: float
) -> None:
    found = bidirectional_margin(torch.tensor(delta), alpha=0.1, beta=0.3)
    assert found.item() == pytest.approx(expected, abs=1e-6)
