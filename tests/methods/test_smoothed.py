"""Models on the way to a map: what they are, and that judging them by vectors is judging them."""

from __future__ import annotations

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize

from clusterns.encoder.load import load_base
from clusterns.encoder.local_map import LocalMap, mapped
from clusterns.evaluation.adaptation import AdaptationEvaluator
from clusterns.methods.method import Ending
from clusterns.methods.smoothed import Smoothed
from clusterns.training.recipe import load_recipe
from clusterns.vectors.nearest import unit

WORDS = "river bank oven moon king law horse letter".split()
TEXTS = [f"the {word} near the {other}" for word in WORDS for other in ("old", "new", "big")]
RANDOM = np.random.default_rng(0).standard_normal((2, 20, 256)).astype(np.float32)
LOCAL = LocalMap(unit(RANDOM[0]), RANDOM[1] / 4, 0.01)


def test_a_share_of_the_way_is_that_share_of_the_map() -> None:
    start = load_base("minibert")
    made = mapped(start, LOCAL)
    method, before = Smoothed(), unit(start.encode(TEXTS))
    assert method.on_the_way(start, made, 0) is start
    for share in (0.25, 1.0):
        found = method.on_the_way(start, made, share).encode(TEXTS)
        expected = unit(before + share * (LOCAL(before) - before))
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("cut", [None, 100])
def test_models_are_judged_by_the_vectors_that_they_have(cut: int | None) -> None:
    start = SentenceTransformer(modules=[*load_base("minibert"), Normalize()])
    start.truncate_dim = cut
    evaluator = AdaptationEvaluator(lambda: start, TEXTS, TEXTS[::-1])
    recipe = load_recipe("adapt-topics")
    ending = Ending(recipe, start, mapped(start, LOCAL), evaluator)
    shares = [0.0, 0.3, 1.0]
    fast = Smoothed().judged(ending, shares)
    for share in shares:
        model = Smoothed().on_the_way(start, ending.model, share)
        assert fast[share] == pytest.approx(evaluator(model), abs=1e-3)
    assert fast[0.0]["kept"] == pytest.approx(1, abs=1e-5)
    assert fast[1.0]["kept"] < fast[0.3]["kept"] < 0.999
