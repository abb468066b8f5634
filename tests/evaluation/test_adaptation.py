from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import spearmanr

from clusterns.errors import UserError
from clusterns.evaluation.adaptation import (
    AdaptationEvaluator,
    common_neighbours,
    search_mrr,
)
from clusterns.evaluation.validators import halved
from tests.helpers.hash_encoder import HashEncoder

TEXTS = [f"sentence number {row} of {row // 2}" for row in range(40)]
GENERAL = [f"general line {row}" for row in range(30)]


class Model(HashEncoder):
    """With a card, as evaluators want it."""

    model_card_data = SimpleNamespace(set_evaluation_metrics=lambda *_: None)


class Moved(Model):
    """The same vectors, each moved by one that follows from the text."""

    def __init__(self, by: float) -> None:
        super().__init__()
        self.by = by

    def encode(self, inputs: list[str], **options: object) -> np.ndarray:
        vectors = super().encode(inputs, **options)
        noise = super().encode([f"{text}!" for text in inputs], **options)
        return vectors + self.by * noise


def evaluator(documents: np.ndarray | None = None) -> AdaptationEvaluator:
    return AdaptationEvaluator(HashEncoder, TEXTS, GENERAL, documents)  # type: ignore[arg-type]


def test_the_start_keeps_everything() -> None:
    found = evaluator()(Model())  # type: ignore[arg-type]
    assert found["kept"] == found["kept_general"] == 1.0
    assert 0 < found["common_neighbours"] < 1


def test_what_is_kept_is_the_correlation_of_similarities() -> None:
    found = evaluator()(Moved(0.5))  # type: ignore[arg-type]
    pairs = [(i, j) for i in range(30) for j in range(i)]
    similarities = []
    for model in (HashEncoder(), Moved(0.5)):
        rows = [v / np.linalg.norm(v) for v in model.encode(GENERAL)]
        similarities.append([rows[i] @ rows[j] for i, j in pairs])
    assert found["kept_general"] == pytest.approx(spearmanr(*similarities).statistic, abs=1e-4)
    assert 0.3 < found["kept"] < 0.99


def test_search_is_how_well_a_sentence_finds_its_document() -> None:
    class Documents(Model):
        """Sentences of a document are the same."""

        def encode(self, inputs: list[str], **options: object) -> np.ndarray:
            return super().encode([text.split()[-1] for text in inputs], **options)

    documents = np.arange(40) // 2
    assert evaluator(documents)(Documents())["search_mrr"] == pytest.approx(1, abs=0.06)  # type: ignore[arg-type]
    assert evaluator(documents)(Model())["search_mrr"] < 0.7  # type: ignore[arg-type]


def test_the_search_score_equals_plain_loops() -> None:
    random = np.random.default_rng(0)
    vectors, documents = random.standard_normal((30, 4)), random.integers(0, 12, 30)
    ranks = []
    for row in range(30):
        others = sorted(set(range(30)) - {row}, key=lambda other: -(vectors[row] @ vectors[other]))
        own = [rank for rank, other in enumerate(others, 1) if documents[other] == documents[row]]
        ranks += own[:1]
    assert 20 < len(ranks) < 30
    found = search_mrr(vectors.astype(np.float32), documents)
    assert found == pytest.approx(np.mean([1 / rank for rank in ranks]), abs=1e-6)
    # Vectors that are all alike find nothing: all of other documents come first.
    assert search_mrr(np.ones((6, 3), np.float32), np.arange(6) // 2) == pytest.approx(1 / 5)


def test_common_neighbours_equal_plain_loops() -> None:
    random = np.random.default_rng(0)
    texts, firsts, seconds = (
        random.standard_normal((count, 3)).astype(np.float32) for count in (30, 25, 25)
    )
    rows = np.arange(25) + 3
    shares = []
    for first, second, own in zip(firsts, seconds, rows, strict=True):
        others = [row for row in range(30) if row != own]
        near = [
            set(sorted(others, key=lambda row: -(texts[row] @ half))[:6])
            for half in (first, second)
        ]
        shares.append(len(near[0] & near[1]) / 6)  # a fifth of 30
    assert common_neighbours(texts, firsts, seconds, rows) == pytest.approx(np.mean(shares))
    assert common_neighbours(texts, firsts, firsts, rows) == 1
    # With few texts, ten neighbours would be all of them, for any half.
    assert common_neighbours(texts[:11], firsts[:11], seconds[:11], np.arange(11)) < 0.8


def test_topics_show_in_both_halves_of_a_sentence() -> None:
    firsts, seconds, rows = halved(["one two three", "a", "日本語"], 2)
    assert list(zip(firsts, seconds, rows, strict=True)) == [
        ("one", "two three", 0), ("日", "本語", 2)
    ]  # fmt: skip

    class Topics(Model):
        """Only the topic of a text counts, next to a little noise."""

        def encode(self, inputs: list[str], **options: object) -> np.ndarray:
            topics = [text.split()[0] for text in inputs]
            return super().encode(topics, **options) + 0.1 * super().encode(inputs, **options)

    texts = [f"{row % 4} word{row} {row % 4} again{row}" for row in range(80)]
    judge = AdaptationEvaluator(HashEncoder, texts, GENERAL)  # type: ignore[arg-type]
    before, after = judge(Model()), judge(Topics())  # type: ignore[arg-type]
    assert after["common_neighbours"] > before["common_neighbours"] + 0.1


def test_too_little_text_is_refused() -> None:
    with pytest.raises(UserError, match="two sentences"):
        evaluator(np.arange(40))
    with pytest.raises(UserError, match="heldout"):
        AdaptationEvaluator(HashEncoder, ["one"], GENERAL)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="heldout"):
        AdaptationEvaluator(HashEncoder, ["a", "b", "c"], GENERAL)  # type: ignore[arg-type]
