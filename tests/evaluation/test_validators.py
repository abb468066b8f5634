from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from clusterns.encoder.load import load_base
from clusterns.errors import UserError
from clusterns.evaluation.retrieval import reciprocal_ranks
from clusterns.evaluation.validators import HalvesEvaluator


def test_reciprocal_ranks_by_hand() -> None:
    similarities = np.array([[0.9, 0.1, 0.2], [0.8, 0.3, 0.1], [0.5, 0.4, 0.3]])
    assert reciprocal_ranks(similarities).tolist() == [1, 1 / 2, 1 / 3]
    ties = np.array([[0.5, 0.9, 0.1], [0.2, 0.2, 0.1], [0.0, 0.1, 0.3]])
    assert reciprocal_ranks(ties).tolist() == [1 / 2, 1 / 1.5, 1]
    assert reciprocal_ranks(np.ones((101, 101))) == pytest.approx(1 / (1 + 100 / 2))
    relevant = np.array([[True, False, True], [True, True, False], [True, True, True]])
    assert reciprocal_ranks(ties, relevant).tolist() == [1 / 2, 1, 1]


def test_a_random_embedding_scores_about_log_n_over_n() -> None:
    score = reciprocal_ranks(np.random.default_rng(0).normal(size=(1000, 1000))).mean()
    assert score == pytest.approx(math.log(1000) / 1000, abs=0.004)


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
