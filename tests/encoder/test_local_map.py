"""A local map behind a model: its vectors, and what stays with the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize

from clusterns.encoder.load import load_base
from clusterns.encoder.local_map import LocalMap, map_of, mapped
from clusterns.vectors.nearest import unit

TEXTS = ["a river in winter", "the bank raised its rates", "sort an array"]
RANDOM = np.random.default_rng(0).standard_normal((2, 5, 256)).astype(np.float32)
LOCAL = LocalMap(unit(RANDOM[0]), RANDOM[1], 0.01)


@pytest.mark.parametrize("ends_in_normalize", [True, False])
def test_vectors_are_mapped_and_the_saved_model_is_plain(
    ends_in_normalize: bool, tmp_path: Path
) -> None:
    model = load_base("minibert")
    if ends_in_normalize:
        model = SentenceTransformer(modules=[*model, Normalize()])
    model.prompts, model.truncate_dim = {"query": "about: "}, 100
    made = mapped(model, LOCAL)
    made.save_pretrained(str(tmp_path))
    opened = SentenceTransformer(str(tmp_path))
    with model.truncate_embeddings(None):
        before = unit(model.encode(TEXTS))
    expected = unit(LOCAL(before))
    assert np.abs(expected - before).max() > 0.01, "nothing moved"
    assert opened.truncate_dim == 100
    assert opened.prompts["query"] == "about: "
    np.testing.assert_allclose(opened.encode(TEXTS), expected[:, :100], atol=1e-5)
    assert len(list(model)) == 2 + ends_in_normalize, "the model itself was changed"
    found = map_of(made)
    np.testing.assert_array_equal(found.landmarks, LOCAL.landmarks)
    np.testing.assert_array_equal(found.changes, LOCAL.changes)
    assert found.threshold == pytest.approx(LOCAL.threshold)
