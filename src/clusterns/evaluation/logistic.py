"""Many small logistic regressions trained as one: SentEval's classifier, batched.

SentEval trains one linear classifier after another: 10 x 10 x 4 of them for a ten-fold task.
Classifiers of the same rows with different L2 strengths share every mini-batch, and those of
different folds have matrices of the same shape, so all of them take each step together. The results
equal those of separate training (the tests compare both).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding, one_hot

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Protocol:
    """The settings of SentEval's classifier as the SimCSE family runs it."""

    seed: int = 1111
    folds: int = 10
    strengths: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2)
    batch_size: int = 64
    epoch_size: int = 4
    tenacity: int = 5
    max_epochs: int = 200
    learning_rate: float = 1e-3
    held_out: float = 0.05


@dataclass(frozen=True)
class Fold:
    """The rows for training a classifier, and those for early stopping.

    Without ``dev``, a fraction of the training rows is held out, drawn with the classifier's seed.
    """

    train: Rows
    dev: Rows | None = None


@dataclass
class Trained:
    """Trained classifiers: ``weights`` (folds, strengths, classes, d + 1), best dev accuracies."""

    weights: Tensor
    accuracies: NDArray[np.float64]

    def predict(self, features: Tensor, fold: int, strength: int) -> NDArray[np.int64]:
        """The classes that one of the classifiers predicts: (n, d) features to (n,)."""
        return (with_ones(features) @ self.weights[fold, strength].T).argmax(dim=1).numpy()


def with_ones(features: Tensor) -> Tensor:
    """Append a column of ones; its weights are the bias."""
    return torch.cat([features, torch.ones(len(features), 1)], dim=1)


def train_classifiers(
    features: Tensor,
    labels: Rows,
    folds: Sequence[Fold],
    strengths: Sequence[Sequence[float]],
    protocol: Protocol,
) -> Trained:
    """Train a classifier for each fold and each of its L2 strengths.

    Args:
        features: (n, d) vectors that all folds draw their rows from.
        labels: (n,) classes.
        folds: the rows of each classifier.
        strengths: the L2 strengths of each fold, the same number for all.
        protocol: the settings.
    """
    rows = with_ones(features)
    classes = int(labels.max()) + 1
    targets = torch.from_numpy(labels)
    onehot = one_hot(targets, classes).float()
    randoms = [np.random.RandomState(protocol.seed) for _ in folds]
    splits = [_hold_out(f, r, protocol) for f, r in zip(folds, randoms, strict=True)]

    count, per_fold = len(folds), len(strengths[0])
    start = _first_weights(features.shape[1], classes, protocol.seed)
    l2 = torch.tensor(strengths).repeat_interleave(classes, dim=1)[:, :, None]
    state = _Adam(start.repeat(count, per_fold, 1), l2, protocol.learning_rate)
    best = state.weights.clone()
    accuracies = np.full((count, per_fold), -1.0)
    failures = np.zeros((count, per_fold), dtype=int)
    live = np.arange(count)
    epoch = 0
    while len(live) and epoch <= protocol.max_epochs:
        for _ in range(protocol.epoch_size):
            orders = [splits[f].train[randoms[f].permutation(len(splits[f].train))] for f in live]
            _train_epoch(state, orders, rows, onehot, protocol.batch_size)
        epoch += protocol.epoch_size
        for place, fold in enumerate(live):
            dev, weights = splits[fold].dev, state.weights[place]
            scores = (rows[dev] @ weights.T).view(-1, per_fold, classes)
            right = (scores.argmax(dim=2) == targets[dev, None]).double().mean(dim=0).numpy()
            running = failures[fold] <= protocol.tenacity
            better = running & (right > accuracies[fold])
            accuracies[fold, better] = right[better]
            changed = torch.from_numpy(np.repeat(better, classes))
            best[fold, changed] = weights[changed]
            # As in SentEval, failures are counted over all of the training and stop it after
            # tenacity + 1 of them: a gain in between does not reset the count.
            failures[fold] += running & ~better
        still = (failures[live] <= protocol.tenacity).any(axis=1)
        if not still.all():
            live = live[still]
            state = state.part(torch.from_numpy(still))
    return Trained(best.view(count, per_fold, classes, -1), accuracies)


class _Adam:
    """Adam with L2 in the gradient, over stacked weights (folds, strengths x classes, d + 1)."""

    def __init__(self, weights: Tensor, l2: Tensor, learning_rate: float) -> None:
        self.weights = weights
        self.l2 = l2
        self.learning_rate = learning_rate
        self.mean = torch.zeros_like(weights)
        self.square = torch.zeros_like(weights)
        self.steps = torch.zeros(len(weights), 1, 1)

    def step(self, gradient: Tensor) -> None:
        """Update the weights of all folds."""
        self.steps += 1
        gradient.addcmul_(self.weights, self.l2)
        self.mean.lerp_(gradient, 0.1)
        self.square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        scale = (1 - 0.999**self.steps).sqrt_()
        size = (1 - 0.9**self.steps).reciprocal_()
        move = self.square.sqrt().div_(scale).add_(1e-8)
        self.weights.sub_(torch.div(self.mean * size, move, out=move), alpha=self.learning_rate)

    def part(self, folds: Tensor | slice) -> _Adam:
        """Some of the folds: a copy, or a view for a slice."""
        some = _Adam(self.weights[folds], self.l2[folds], self.learning_rate)
        some.mean, some.square = self.mean[folds], self.square[folds]
        some.steps = self.steps[folds]
        return some


def _train_epoch(
    state: _Adam, orders: list[Rows], rows: Tensor, onehot: Tensor, batch_size: int
) -> None:
    """Train each fold for one epoch, in its own order of rows."""
    full = min(map(len, orders)) // batch_size * batch_size
    together = torch.from_numpy(np.stack([order[:full] for order in orders]))
    for index in together.split(batch_size, dim=1) if full else ():
        state.step(_gradient(state.weights, index, rows, onehot))
    # The last batches of the folds differ in size, and some folds have none.
    for start in range(full, max(map(len, orders)), batch_size):
        for fold, order in enumerate(orders):
            index = torch.from_numpy(order[start : start + batch_size])[None]
            if index.numel():
                alone = state.part(slice(fold, fold + 1))
                alone.step(_gradient(alone.weights, index, rows, onehot))


def _gradient(weights: Tensor, index: Tensor, rows: Tensor, onehot: Tensor) -> Tensor:
    """The gradient of the mean cross-entropy of each classifier over its batch.

    Args:
        weights: (folds, strengths x classes, d + 1).
        index: (folds, batch), the rows of each fold's batch.
        rows: (n, d + 1).
        onehot: (n, classes).
    """
    folds, batch = index.shape
    x = embedding(index, rows)  # several times faster than rows[index]
    truth = embedding(index, onehot)
    error = torch.bmm(x, weights.transpose(1, 2)).view(folds, batch, -1, onehot.shape[1])
    error = error.softmax(dim=3).sub_(truth[:, :, None, :]).div_(batch)
    return torch.bmm(error.view(folds, batch, -1).transpose(1, 2), x)


def _first_weights(dimension: int, classes: int, seed: int) -> Tensor:
    """The seeded initial weights of PyTorch's linear layer, as (1, classes, d + 1)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = torch.nn.Linear(dimension, classes)
    return torch.cat([layer.weight, layer.bias[:, None]], dim=1).detach()[None]


def _hold_out(fold: Fold, random: np.random.RandomState, protocol: Protocol) -> Fold:
    if fold.dev is not None:
        return fold
    order = fold.train[random.permutation(len(fold.train))]
    held = math.floor(protocol.held_out * len(order))
    return Fold(order[held:], order[:held])
