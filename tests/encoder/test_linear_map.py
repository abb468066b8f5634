"""A linear map behind a model: its vectors, and what stays with the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize

from clusterns.encoder.base import load_base
from clusterns.encoder.linear_map import mapped

TEXTS = ["a river in winter", "the bank raised its rates", "sort an array"]


@pytest.mark.parametrize("normalised", [True, False])
def test_vectors_are_mapped_and_the_saved_model_is_plain(normalised: bool, tmp_path: Path) -> None:
    model = load_base("minibert")
    if normalised:
        model = SentenceTransformer(modules=[*model, Normalize()])
    model.prompts, model.truncate_dim = {"query": "about: "}, 100
    change = np.random.default_rng(0).standard_normal((256, 256)) / 50
    mapped(model, change).save_pretrained(str(tmp_path))
    opened = SentenceTransformer(str(tmp_path))
    with model.truncate_embeddings(None):
        before = model.encode(TEXTS)
    expected = before + before @ change
    if normalised:
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert opened.truncate_dim == 100
    assert opened.prompts["query"] == "about: "
    np.testing.assert_allclose(opened.encode(TEXTS), expected[:, :100], atol=1e-5)
    assert len(list(model)) == 2 + normalised, "the model itself was changed"
