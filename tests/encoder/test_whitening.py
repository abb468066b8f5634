from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from clusterns.encoder.load import averaged_encoder
from clusterns.encoder.whitening import mean_and_covariance, whiten, whitening
from tests.helpers.models import open_plain
from tests.helpers.texts import sentences
from tests.helpers.vectors import correlated


def test_moments_in_blocks_are_those_of_all_vectors() -> None:
    vectors = correlated(50, 6)
    mean, covariance = mean_and_covariance(vectors.split([7, 30, 13]))
    np.testing.assert_allclose(mean, vectors.mean(0), rtol=1e-12)
    np.testing.assert_allclose(covariance, np.cov(vectors.T), rtol=1e-9)


@pytest.mark.parametrize("dimensions", [None, 4])
def test_whitened_vectors_have_unit_covariance(dimensions: int | None) -> None:
    vectors = correlated(200, 8)
    vectors[:, 3] = vectors[:, 0] + vectors[:, 1]  # a direction without variance
    dense, normalize = whitening(*mean_and_covariance([vectors]), dimensions)
    kept = dimensions or 7
    with torch.no_grad():
        white = dense.double()({"sentence_embedding": vectors})["sentence_embedding"]
    np.testing.assert_allclose(np.cov(white.T), np.eye(kept), atol=1e-3)
    np.testing.assert_allclose(white.mean(0), np.zeros(kept), atol=1e-3)
    with torch.no_grad():
        unit = normalize({"sentence_embedding": white})["sentence_embedding"]
    np.testing.assert_allclose(unit.norm(dim=1), np.ones(200), atol=1e-9)


def test_the_kept_directions_are_those_of_the_largest_variance() -> None:
    vectors = torch.randn(500, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor(
        [1.0, 9.0, 3.0]
    )
    dense, _ = whitening(*mean_and_covariance([vectors]), 2)
    assert dense.linear.weight.abs().argmax(dim=1).tolist() == [1, 2]


def test_whitened_minibert_opens_anywhere(tmp_path: Path) -> None:
    base = averaged_encoder("minibert", "mean")
    corpus = sentences(400)
    model = whiten(base, corpus, max_length=32, quiet=True)
    kept = model.get_embedding_dimension()
    assert 150 < kept < 256, "the last layer norm takes one direction, and hides some"
    with torch.no_grad():
        features = model.preprocess(corpus)
        for module in list(model)[:-1]:
            features = module(features)
    white = features["sentence_embedding"]
    np.testing.assert_allclose(np.cov(white.T), np.eye(kept), atol=1e-2)
    model.save(str(tmp_path))
    np.testing.assert_allclose(
        open_plain(tmp_path).encode(corpus[:3]), model.encode(corpus[:3]), atol=1e-6
    )


def test_small_variances_are_raised_to_the_floor() -> None:
    vectors = torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 0.2], [0.0, -0.2]])
    dense, _ = whitening(*mean_and_covariance([vectors]), floor=0.25)
    # The variances are 8/3 and 0.08/3; the second is raised to a quarter of the first.
    expected = torch.diag(torch.tensor([(8 / 3) ** -0.5, (2 / 3) ** -0.5]))
    torch.testing.assert_close(dense.linear.weight.abs(), expected)
