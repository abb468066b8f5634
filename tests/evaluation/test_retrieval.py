from __future__ import annotations

import math

import pytest

from clusterns.evaluation.datasets import Retrieval
from clusterns.evaluation.retrieval import retrieval_of
from clusterns.vectors.embed import Embedder
from tests.helpers.hash_encoder import HashEncoder


def test_by_hand() -> None:
    # The first query equals its text. The second equals another's: its own has rank two.
    texts = ["a b", "c d", "c e"]
    retrieval = Retrieval(["a b", "c e"], texts, [frozenset({0}), frozenset({1})])
    encoder = HashEncoder(64)
    found = retrieval_of(Embedder(encoder), retrieval)
    assert found["accuracy@1"] == 0.5
    assert found["recall@3"] == 1
    assert found["mrr@10"] == pytest.approx(0.75)
    assert found["ndcg@10"] == pytest.approx((1 + 1 / math.log2(3)) / 2)
