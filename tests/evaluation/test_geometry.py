from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from clusterns.errors import UserError
from clusterns.evaluation import geometry
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.vectors.embed import Embedder
from clusterns.vectors.nearest import unit
from tests.helpers.hash_encoder import HashEncoder


def test_against_loops_over_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometry, "CHUNK", 7)
    vectors = np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32)
    rows = unit(vectors)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)
    pairs = list(combinations(rows, 2))
    expected = np.log(np.mean([np.exp(-2 * np.sum((a - b) ** 2)) for a, b in pairs]))
    assert geometry.uniformity(rows) == pytest.approx(expected)
    assert geometry.anisotropy(rows) == pytest.approx(np.mean([a @ b for a, b in pairs]))


def test_by_hand() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert geometry.alignment(rows, rows[::-1]) == pytest.approx(2)
    assert geometry.uniformity(rows) == pytest.approx(-4)
    assert geometry.anisotropy(rows) == pytest.approx(0)


def test_only_pairs_above_four_are_positive_and_sentences_are_distinct() -> None:
    encoder = HashEncoder()
    pairs = ScoredPairs(["a", "a", "b"], ["b", "c", "d"], np.array([4.5, 4.0, 1.0]), "p")
    found = geometry.geometry_of(Embedder(encoder), pairs)
    rows = unit(np.stack([encoder.vector(s) for s in "abcd"]))
    assert found["alignment"] == pytest.approx(np.sum((rows[0] - rows[1]) ** 2))
    assert found["uniformity"] == pytest.approx(geometry.uniformity(rows))
    assert found["anisotropy"] == pytest.approx(geometry.anisotropy(rows))


def test_no_positive_pair() -> None:
    pairs = ScoredPairs(["a", "b"], ["c", "d"], np.array([1.0, 2.0]), "p")
    with pytest.raises(UserError, match="no pair with a score above 4"):
        geometry.geometry_of(Embedder(HashEncoder()), pairs)
