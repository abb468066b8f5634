"""A linear map behind a model: its vectors, and what stays with the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize

from clusterns.encoder.base import load_base
from clusterns.encoder.linear_map import map_of, mapped
from clusterns.vectors.nearest import unit

TEXTS = ["a river in winter", "the bank raised its rates", "sort an array"]
MATRIX = np.eye(256) + np.random.default_rng(0).standard_normal((256, 256)) / 50


@pytest.mark.parametrize(
    ("ends_in_normalize", "normalise"), [(True, False), (False, True), (False, False)]
)
def test_vectors_are_mapped_and_the_saved_model_is_plain(
    ends_in_normalize: bool, normalise: bool, tmp_path: Path
) -> None:
    model = load_base("minibert")
    if ends_in_normalize:
        model = SentenceTransformer(modules=[*model, Normalize()])
    model.prompts, model.truncate_dim = {"query": "about: "}, 100
    made = mapped(model, MATRIX, normalise=normalise)
    made.save_pretrained(str(tmp_path))
    opened = SentenceTransformer(str(tmp_path))
    with model.truncate_embeddings(None):
        expected = model.encode(TEXTS) @ MATRIX
    of_length_1 = ends_in_normalize or normalise
    if of_length_1:
        expected = unit(expected)
    assert opened.truncate_dim == 100
    assert opened.prompts["query"] == "about: "
    np.testing.assert_allclose(opened.encode(TEXTS), expected[:, :100], atol=1e-5)
    assert len(list(model)) == 2 + ends_in_normalize, "the model itself was changed"
    matrix, found = map_of(made)
    assert found == of_length_1
    np.testing.assert_allclose(matrix, MATRIX, atol=1e-6)
