from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from clusterns.errors import UserError
from clusterns.evaluation.datasets import LabeledTexts, TransferTask
from clusterns.evaluation.logistic import Fold, Protocol
from clusterns.evaluation.transfer import senteval_order, transfer_score
from clusterns.vectors.embed import Embedder
from tests.helpers.classifier import one_by_one
from tests.helpers.hash_encoder import HashEncoder

SMALL = Protocol(
    folds=2, strengths=(1e-4, 1e-1), batch_size=16, epoch_size=2, tenacity=1, max_epochs=10
)


def made_texts(rows: int, seed: int, pairs: bool = False) -> LabeledTexts:
    random = np.random.default_rng(seed)
    labels = random.integers(2, size=rows)
    words = np.array([["good", "fine", "w1", "w2"], ["bad", "poor", "w1", "w2"]])

    def text(label: int) -> str:
        return " ".join(words[label, random.integers(4, size=random.integers(1, 6))])

    texts = [text(label) for label in labels]
    partners = [text(1 - label) for label in labels] if pairs else None
    return LabeledTexts(texts, labels, partners, "made")


def sorted_features(part: LabeledTexts) -> tuple[torch.Tensor, np.ndarray, list[int]]:
    """Vectors in SentEval's order, by Python's own stable sort."""
    encoder = HashEncoder()
    order = sorted(
        range(len(part.texts)),
        key=lambda i: (
            len(part.texts[i].split()),
            len(part.partners[i].split()) if part.partners else 0,
            part.labels[i],
        ),
    )
    first = np.stack([encoder.vector(part.texts[i]) for i in order])
    if part.partners:
        second = np.stack([encoder.vector(part.partners[i]) for i in order])
        first = np.hstack([abs(first - second), first * second])
    return torch.from_numpy(first), part.labels[order], order


def pick(x: torch.Tensor, y: np.ndarray) -> float:
    means = []
    for strength in SMALL.strengths:
        folds = StratifiedKFold(SMALL.folds, shuffle=True, random_state=1111).split(x, y)
        scores = [one_by_one(x, y, Fold(a, b), strength, SMALL)[1] for a, b in folds]
        means.append(round(100 * float(np.mean(scores)), 2))
    return SMALL.strengths[int(np.argmax(means))]


def accuracy(layer: torch.nn.Linear, x: torch.Tensor, y: np.ndarray) -> float:
    return 100 * float((layer(x).argmax(1).numpy() == y).mean())


def test_nested_cross_validation_step_by_step() -> None:
    part = made_texts(60, 0)
    x, y, _ = sorted_features(part)
    expected = []
    for train, test in StratifiedKFold(2, shuffle=True, random_state=1111).split(x, y):
        strength = pick(x[train], y[train])
        layer, _ = one_by_one(x, y, Fold(train), strength, SMALL)
        expected.append(accuracy(layer, x[test], y[test]))
    score = transfer_score(Embedder(HashEncoder()), TransferTask("made", part), SMALL)
    assert score.accuracy == pytest.approx(np.mean(expected))
    assert score.right.mean() * 100 == pytest.approx(score.accuracy, abs=1)
    assert 60 < score.accuracy < 100


def test_pairs_with_a_test_part_step_by_step() -> None:
    task = TransferTask("made", made_texts(80, 1, pairs=True), made_texts(40, 2, pairs=True))
    x, y, _ = sorted_features(task.train)
    layer, _ = one_by_one(x, y, Fold(np.arange(80)), pick(x, y), SMALL)
    assert task.test is not None
    test_x, test_y, order = sorted_features(task.test)
    score = transfer_score(Embedder(HashEncoder()), task, SMALL)
    predicted = layer(test_x).argmax(1).numpy()
    assert score.accuracy == pytest.approx(accuracy(layer, test_x, test_y))
    assert score.f1 == pytest.approx(100 * f1_score(test_y, predicted))
    np.testing.assert_array_equal(score.right[order], predicted == test_y)


def test_given_dev_part_picks_the_strength() -> None:
    task = TransferTask("made", made_texts(80, 1), made_texts(40, 2), made_texts(30, 3))
    x, y, _ = sorted_features(task.train)
    assert task.dev is not None
    assert task.test is not None
    dev_x, dev_y, _ = sorted_features(task.dev)
    both_x, both_y = torch.cat([x, dev_x]), np.concatenate([y, dev_y])
    fold = Fold(np.arange(80), np.arange(80, 110))
    found = [one_by_one(both_x, both_y, fold, s, SMALL) for s in SMALL.strengths]
    layer = found[int(np.argmax([best for _, best in found]))][0]
    test_x, test_y, _ = sorted_features(task.test)
    score = transfer_score(Embedder(HashEncoder()), task, SMALL)
    assert score.accuracy == pytest.approx(accuracy(layer, test_x, test_y))


def test_order_is_by_words_then_class_and_stable() -> None:
    part = LabeledTexts(["a b", "c", "d", "e f", "g"], np.array([0, 1, 0, 0, 1]))
    assert senteval_order(part).tolist() == [2, 1, 4, 0, 3]


def test_too_few_rows_for_the_folds() -> None:
    with pytest.raises(UserError, match="fewer rows than the 10 folds"):
        transfer_score(Embedder(HashEncoder()), TransferTask("made", made_texts(12, 0)))
