from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import spearmanr

from clusterns.errors import UserError
from clusterns.evaluation.adaptation import AdaptationEvaluator, search_mrr
from tests.hash_encoder import HashEncoder

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
    assert found["moved"] == 0.0


def test_what_is_kept_is_the_correlation_of_similarities() -> None:
    found = evaluator()(Moved(0.5))  # type: ignore[arg-type]
    pairs = [(i, j) for i in range(30) for j in range(i)]
    similarities = []
    for model in (HashEncoder(), Moved(0.5)):
        rows = [v / np.linalg.norm(v) for v in model.encode(GENERAL)]
        similarities.append([rows[i] @ rows[j] for i, j in pairs])
    assert found["kept_general"] == pytest.approx(spearmanr(*similarities).statistic, abs=1e-4)
    assert found["moved"] == pytest.approx(1 - found["kept"])
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


def test_too_little_text_is_refused() -> None:
    with pytest.raises(UserError, match="two sentences"):
        evaluator(np.arange(40))
    with pytest.raises(UserError, match="heldout"):
        AdaptationEvaluator(HashEncoder, ["one"], GENERAL)  # type: ignore[arg-type]
