"""Transfer tasks: how well a linear classifier predicts classes from frozen embeddings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from torch import Tensor

from clusterns.console import bar
from clusterns.errors import UserError
from clusterns.evaluation.datasets import LabeledTexts, TransferTask
from clusterns.evaluation.logistic import Fold, Protocol, Rows, train_classifiers
from clusterns.vectors.embed import Embedder


@dataclass(frozen=True)
class TransferScore:
    """The accuracy (x100) of a task, F1 for a task of pairs, and which rows were correct."""

    accuracy: float
    f1: float | None
    right: NDArray[np.bool_]


def transfer_score(
    embed: Embedder, task: TransferTask, protocol: Protocol | None = None, progress: bool = False
) -> TransferScore:
    """Score one task.

    Args:
        embed: embeds the texts.
        task: with a test part, the classifier is trained on train and scored on test; without one,
            nested cross-validation is used.
        protocol: settings. None: SentEval's.
        progress: whether to show a progress bar over the folds of a cross-validation.
    """
    protocol = protocol or Protocol()
    part = task.train
    if np.unique(part.labels, return_counts=True)[1].min() < protocol.folds:
        raise UserError(f"{task.name}: a class has fewer rows than the {protocol.folds} folds.")
    order = senteval_order(part)
    features, labels = _features(embed, part)[order], part.labels[order]
    if task.test is None:
        right = np.empty(len(labels), dtype=bool)
        accuracy, right[order] = _nested(features, labels, protocol, progress)
        return TransferScore(accuracy, None, right)
    if task.dev is not None:
        dev_order = senteval_order(task.dev)
        both = torch.cat([features, _features(embed, task.dev)[dev_order]])
        labels = np.concatenate([labels, task.dev.labels[dev_order]])
        here = np.arange(len(labels))
        given = Fold(here[: len(features)], here[len(features) :])
        # The classifier of the best strength is tested: training it again with the same
        # seed and rows would give the same classifier.
        trained = train_classifiers(both, labels, [given], [protocol.strengths], protocol)
        best = _best(trained.accuracies)
        predicted = trained.predict(_features(embed, task.test), 0, best)
    else:
        strength = _pick_strength(features, labels, protocol)
        whole = Fold(np.arange(len(labels)))
        trained = train_classifiers(features, labels, [whole], [[strength]], protocol)
        predicted = trained.predict(_features(embed, task.test), 0, 0)
    truth = task.test.labels
    f1 = 100 * float(f1_score(truth, predicted)) if part.partners is not None else None
    right = predicted == truth
    return TransferScore(100 * float(right.mean()), f1, right)


def senteval_order(part: LabeledTexts) -> Rows:
    """SentEval's order of the rows, which determines the folds: by number of words, then by class."""
    sides = [part.texts] if part.partners is None else [part.texts, part.partners]
    words = [np.array([len(text.split()) for text in side]) for side in sides]
    return np.lexsort((part.labels, *reversed(words))).astype(np.int64)


def _features(embed: Embedder, part: LabeledTexts) -> Tensor:
    first = torch.from_numpy(embed(part.texts))
    if part.partners is None:
        return first
    second = torch.from_numpy(embed(part.partners))
    return torch.cat([(first - second).abs(), first * second], dim=1)


def _folds(labels: Rows, protocol: Protocol) -> list[Fold]:
    split = StratifiedKFold(protocol.folds, shuffle=True, random_state=protocol.seed)
    return [Fold(train, dev) for train, dev in split.split(labels, labels)]


def _best(accuracies: NDArray[np.float64]) -> int:
    """The strength with the best mean over the folds, rounded as in SentEval; the first one in a tie."""
    return int(np.argmax(np.round(100 * accuracies.mean(axis=0), 2)))


def _pick_strength(features: Tensor, labels: Rows, protocol: Protocol) -> float:
    folds = _folds(labels, protocol)
    grid = [protocol.strengths] * len(folds)
    trained = train_classifiers(features, labels, folds, grid, protocol)
    return protocol.strengths[_best(trained.accuracies)]


def _nested(
    features: Tensor, labels: Rows, protocol: Protocol, progress: bool
) -> tuple[float, NDArray[np.bool_]]:
    """Test each outer fold with a classifier whose strength was chosen on the other rows."""
    outer = _folds(labels, protocol)
    picked = [
        [_pick_strength(features[fold.train], labels[fold.train], protocol)]
        for fold in bar(outer, desc="Classify", unit="fold", leave=False, shown=progress)
    ]
    final = [Fold(fold.train) for fold in outer]
    trained = train_classifiers(features, labels, final, picked, protocol)
    right = np.empty(len(labels), dtype=bool)
    accuracies = []
    for number, fold in enumerate(outer):
        predicted = trained.predict(features[fold.dev], number, 0)
        right[fold.dev] = predicted == labels[fold.dev]
        accuracies.append(right[fold.dev].mean())
    return 100 * float(np.mean(accuracies)), right
