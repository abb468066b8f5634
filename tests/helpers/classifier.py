"""SentEval's classifier, one torch model after the other: the slow oracle."""

from __future__ import annotations

import copy

import numpy as np
import torch

from clusterns.evaluation.logistic import Fold, Protocol


def one_by_one(
    x: torch.Tensor, y: np.ndarray, fold: Fold, strength: float, p: Protocol
) -> tuple[torch.nn.Linear, float]:
    """One classifier, trained with PyTorch's own layer, loss and optimiser."""
    random = np.random.RandomState(p.seed)
    torch.manual_seed(p.seed)
    layer = torch.nn.Linear(x.shape[1], int(y.max()) + 1)
    optimiser = torch.optim.Adam(layer.parameters(), lr=p.learning_rate, weight_decay=strength)
    train, dev = fold.train, fold.dev
    if dev is None:
        order = random.permutation(len(train))
        held = int(p.held_out * len(train))
        train, dev = train[order[held:]], train[order[:held]]
    best, best_layer, failures, epochs = -1.0, layer, 0, 0
    while failures <= p.tenacity and epochs <= p.max_epochs:
        for _ in range(p.epoch_size):
            order = random.permutation(len(train))
            for start in range(0, len(train), p.batch_size):
                rows = train[order[start : start + p.batch_size]]
                loss = torch.nn.functional.cross_entropy(layer(x[rows]), torch.from_numpy(y[rows]))
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        epochs += p.epoch_size
        accuracy = float((layer(x[dev]).argmax(1).numpy() == y[dev]).mean())
        if accuracy > best:
            best, best_layer = accuracy, copy.deepcopy(layer)
        else:
            failures += 1
    return best_layer, best
