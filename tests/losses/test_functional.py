"""The formulas, each against numbers computed by hand or a plain matrix."""

from __future__ import annotations

import pytest
import torch

from clusterns.losses.functional import (
    bidirectional_margin,
    cosine_matrix,
    farthest_chain,
    global_centroids,
    info_nce,
    mean_in_batch_similarity,
)


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


@pytest.mark.parametrize("scale", [[1.0, 2.0, 3.0, 4.0], [0.01, 0.1, 1.0, 100.0]])
def test_global_centroids_are_the_raw_means_of_clusters_of_directions(scale: list[float]) -> None:
    directions = torch.tensor([[1.0, 0.1, 0.0], [0.1, 1.0, 0.0], [0.0, 0.1, 1.0]])
    vectors = (torch.tensor(scale)[:, None, None] * directions).reshape(-1, 3)
    centroids = global_centroids(vectors, 3, seed=0)
    order = centroids.argmax(1).argsort()
    torch.testing.assert_close(centroids[order], sum(scale) / 4 * directions)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_global_centroids_of_single_and_missing_members() -> None:
    vectors = torch.tensor([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 4.0]])
    centroids = global_centroids(vectors, 3, seed=0)
    torch.testing.assert_close(centroids[centroids.argmax(1).argsort()], vectors)
    # Fewer different rows than centroids: some stay empty, none is missing.
    centroids = global_centroids(vectors.repeat(2, 1), 5, seed=0)
    assert centroids.shape == (5, 3)
    assert (centroids.norm(dim=1) == 0).sum() == 2
