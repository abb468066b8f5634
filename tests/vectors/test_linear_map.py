"""The linear map of an adaptation, against a slow search and values by hand."""

from __future__ import annotations

import numpy as np
import torch

from clusterns.vectors.linear_map import fitted_map
from clusterns.vectors.nearest import Vectors


def some(count: int, seed: int) -> Vectors:
    return np.random.default_rng(seed).standard_normal((count, 4)).astype(np.float32)


def test_one_number_by_hand() -> None:
    one, two = np.ones((3, 1), np.float32), np.full((3, 1), 2, np.float32)
    # (m - 2)^2 + w (m - 1)^2 + r (m - 1)^2 is smallest at m = 1 + 1 / (1 + w + r).
    found = fitted_map(one, two, one[:2], weight=0.5, ridge=0.25)
    np.testing.assert_allclose(found, [[1 + 1 / 1.75]])
    np.testing.assert_allclose(fitted_map(one, two, one, weight=0, ridge=0.25), [[1 + 1 / 1.25]])
    np.testing.assert_allclose(
        fitted_map(one, two, one[:0], weight=3, ridge=0.25), [[1 + 1 / 1.25]]
    )


def test_it_is_where_gradient_descent_ends() -> None:
    vectors, targets, still = some(30, 1), some(30, 2), some(12, 3)
    x, t, g = (torch.from_numpy(each).double() for each in (vectors, targets, still))
    matrix = torch.eye(4, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([matrix], lr=0.1)
    for _ in range(2000):
        moved = (x @ matrix - t).square().sum(1).mean()
        stayed = (g @ matrix - g).square().sum(1).mean()
        loss = moved + 0.7 * stayed + 0.1 * (matrix - torch.eye(4)).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    found = fitted_map(vectors, targets, still, weight=0.7, ridge=0.1)
    assert np.abs(found - np.eye(4)).max() > 0.1, "nothing moved"
    np.testing.assert_allclose(found, matrix.detach().numpy(), atol=1e-8)


def test_what_is_to_stay_stays_the_more_the_more_it_weighs() -> None:
    vectors, targets, still = some(30, 1), some(30, 2), some(2, 3)
    light, heavy = (
        fitted_map(vectors, targets, still, weight=weight, ridge=1e-3) - np.eye(4)
        for weight in (0.1, 1e6)
    )
    assert np.abs(still @ light).max() > 0.1
    assert np.abs(still @ heavy).max() < 1e-3
    assert np.abs(vectors @ heavy).max() > 0.1, "nothing moves at all"
