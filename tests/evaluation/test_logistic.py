"""The batched classifiers against SentEval's way: one torch model after the other."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from clusterns.evaluation.logistic import Fold, Protocol, train_classifiers
from tests.helpers.classifier import one_by_one

QUICK = Protocol(batch_size=8, epoch_size=2, tenacity=2, max_epochs=60, learning_rate=0.02)


def made_data(rows: int, dimension: int, classes: int) -> tuple[torch.Tensor, np.ndarray]:
    random = np.random.default_rng(5)
    y = random.integers(classes, size=rows)
    centres = random.normal(size=(classes, dimension))
    x = centres[y] + 2.5 * random.normal(size=(rows, dimension))
    return torch.from_numpy(x.astype(np.float32)), y


@pytest.mark.parametrize("classes", [2, 4])
def test_together_equals_one_by_one(classes: int) -> None:
    x, y = made_data(97, 6, classes)
    order = np.random.default_rng(1).permutation(97)
    # Sizes 79, 80 and 81 differ in their last batch, and 80 rows have one batch fewer than 81.
    folds = [Fold(order[:79], order[79:]), Fold(order[17:], order[:17]), Fold(order[:81])]
    strengths = [(1e-5, 1e-2), (1e-4, 1e-1), (1e-3, 1.0)]
    trained = train_classifiers(x, y, folds, strengths, QUICK)
    stops = set()
    for number, fold in enumerate(folds):
        for place, strength in enumerate(strengths[number]):
            layer, best = one_by_one(x, y, fold, strength, QUICK)
            assert trained.accuracies[number, place] == pytest.approx(best)
            weights = trained.weights[number, place]
            torch.testing.assert_close(weights[:, :-1], layer.weight, atol=2e-4, rtol=1e-3)
            torch.testing.assert_close(weights[:, -1], layer.bias, atol=2e-4, rtol=1e-3)
            np.testing.assert_array_equal(
                trained.predict(x, number, place), layer(x).argmax(1).numpy()
            )
            stops.add(round(best, 4))
    assert len(stops) > 1  # the folds are not all the same


def test_global_random_state_is_left_alone() -> None:
    x, y = made_data(60, 4, 2)
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    train_classifiers(x, y, [Fold(np.arange(60))], [[1e-5]], QUICK)
    assert torch.equal(before, torch.random.get_rng_state())
