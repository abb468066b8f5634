from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from clusterns.encoder.load import load_model
from clusterns.evaluation.catalog import SUITES, EvaluationData
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.results import Results
from clusterns.evaluation.sts import cosines_of, pair_cosines, spearman
from clusterns.evaluation.validators import ScoredPairsEvaluator
from clusterns.vectors.embed import Embedder
from tests.helpers.hash_encoder import HashEncoder

# What the authors of all-MiniLM-L6-v2 publish, on two sets that take little time.
MINILM = {"STS16": 78.99, "STS-B": 82.03}


def senteval_formula(encoder: HashEncoder, pairs: ScoredPairs) -> float:
    """SentEval's way, pair by pair, NaN (a zero vector) counting as 0."""
    cosines = []
    for first, second in zip(pairs.sentences1, pairs.sentences2, strict=True):
        a, b = encoder.vector(first), encoder.vector(second)
        with np.errstate(invalid="ignore"):
            cosines.append(np.nan_to_num(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b))))
    return float(spearmanr(cosines, pairs.scores).statistic)


def test_hand_computed_cosines() -> None:
    first = np.array([[3, 4], [1, 0], [0, 0]], dtype=np.float32)
    second = np.array([[4, 3], [0, 2], [1, 1]], dtype=np.float32)
    np.testing.assert_allclose(pair_cosines(first, second), [24 / 25, 0, 0], rtol=1e-6)


def test_spearman_by_hand() -> None:
    assert spearman(np.array([0.1, 0.5, 0.9]), np.array([1.0, 3.0, 2.0])) == pytest.approx(0.5)
    assert spearman(np.array([0.5, 0.5, 0.5]), np.array([1.0, 3.0, 2.0])) == 0


@pytest.mark.parametrize("name", SUITES["sts"])
def test_equals_sentevals_formula_on_real_pairs(
    name: str, shared_data: Path, hash_encoder: HashEncoder
) -> None:
    pairs = EvaluationData(shared_data).pairs(name)
    ours = spearman(cosines_of(Embedder(hash_encoder), pairs), pairs.scores)
    assert ours == pytest.approx(senteval_formula(hash_encoder, pairs), abs=1e-6)


def test_evaluator_encodes_once_and_stores_its_metric() -> None:
    pairs = ScoredPairs(["a b", "a", "a b"], ["a c", "d", "a b"], np.array([1.0, 0.0, 2.0]), "mine")
    encoder = HashEncoder()
    stored = []

    class Card:
        def set_evaluation_metrics(self, *given: object) -> None:
            stored.append(given[1])

    encoder.model_card_data = Card()  # type: ignore[attr-defined]
    evaluator = ScoredPairsEvaluator(pairs, name="dev")
    metrics = evaluator(encoder, epoch=1, steps=2)
    assert encoder.calls == [["a b", "a c", "a", "d"]]
    assert evaluator.primary_metric == "dev_spearman"
    assert metrics == {"dev_spearman": pytest.approx(senteval_formula(encoder, pairs))}
    assert stored == [metrics]


@pytest.fixture(scope="module")
def minilm(shared_models: Path) -> Embedder:
    return Embedder(load_model(str(shared_models / "all-MiniLM-L6-v2")))


@pytest.mark.parametrize("name", MINILM)
def test_minilm_gives_its_published_and_its_recorded_value(
    name: str, minilm: Embedder, shared_data: Path
) -> None:
    pairs = EvaluationData(shared_data).pairs(name)
    cosines = cosines_of(minilm, pairs)
    assert 100 * spearman(cosines, pairs.scores) == pytest.approx(MINILM[name], abs=0.01)
    folder = Path(__file__).parents[2] / "results" / "reference"
    recorded = Results.read(folder / "all-MiniLM-L6-v2.json")
    np.testing.assert_allclose(cosines, recorded.predictions[f"sts/{name}"], atol=1e-4)
    assert recorded.suites["sts"].sets[name].digest == pairs.digest
