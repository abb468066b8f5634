from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer

from clusterns.encoder.load import load_base
from clusterns.errors import UserError
from clusterns.evaluation.validators import HalvesEvaluator, mean_reciprocal_rank


def test_mean_reciprocal_rank_by_hand() -> None:
    similarities = torch.tensor([[0.9, 0.1, 0.2], [0.8, 0.3, 0.1], [0.5, 0.4, 0.3]])
    # Ranks of the diagonal: 1, 2, 3.
    assert mean_reciprocal_rank(similarities) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


def test_a_constant_embedding_gains_nothing_by_ties() -> None:
    n = 101
    assert mean_reciprocal_rank(torch.ones(n, n)) == pytest.approx(1 / (1 + (n - 1) / 2))


def test_a_random_embedding_scores_about_log_n_over_n() -> None:
    n = 1000
    score = mean_reciprocal_rank(torch.randn(n, n, generator=torch.Generator().manual_seed(0)))
    assert score == pytest.approx(math.log(n) / n, abs=0.004)


def test_sentences_are_cut_in_the_middle_and_short_ones_left_out(tiny_bert: Path) -> None:
    evaluator = HalvesEvaluator(
        [
            "a b c d e f",
            "too short",
            "the king of the old town slept",
            "one two three one two three",
        ]
    )
    assert evaluator.firsts == ["a b c", "the king of", "one two three"]
    assert evaluator.seconds == ["d e f", "the old town slept", "one two three"]
    model: SentenceTransformer = load_base(str(tiny_bert))
    score = evaluator(model)[str(evaluator.primary_metric)]
    assert 1 / 3 <= score <= 1  # equal halves find each other
    with pytest.raises(UserError, match="six words|6 words"):
        HalvesEvaluator(["too short", "this too"])
