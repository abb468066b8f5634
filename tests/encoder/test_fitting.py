from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from clusterns.encoder.averages import averaged_encoder
from clusterns.encoder.fitting import fit_flow, whiten
from clusterns.encoder.flow import Flow
from clusterns.encoder.flow_layers import flow_layers
from clusterns.encoder.whitening import Moments, whitening
from clusterns.errors import UserError
from tests.helpers.models import open_plain
from tests.helpers.texts import sentences


def correlated(count: int, dimension: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    mixed = torch.randn(dimension, dimension, generator=generator, dtype=torch.float64)
    vectors = torch.randn(count, dimension, generator=generator, dtype=torch.float64) @ mixed
    return vectors + 100


def test_moments_in_blocks_are_those_of_all_vectors() -> None:
    vectors = correlated(50, 6)
    moments = Moments(6)
    for block in vectors.split([7, 30, 13]):
        moments.add(block)
    np.testing.assert_allclose(moments.mean, vectors.mean(0), rtol=1e-12)
    np.testing.assert_allclose(moments.covariance, np.cov(vectors.T), rtol=1e-9)


@pytest.mark.parametrize("dimensions", [None, 4])
def test_whitened_vectors_have_unit_covariance(dimensions: int | None) -> None:
    vectors = correlated(200, 8)
    vectors[:, 3] = vectors[:, 0] + vectors[:, 1]  # a direction without variance
    moments = Moments(8)
    moments.add(vectors)
    dense, normalise = whitening(moments, dimensions)
    kept = dimensions or 7
    with torch.no_grad():
        white = dense.double()({"sentence_embedding": vectors})["sentence_embedding"]
    np.testing.assert_allclose(np.cov(white.T), np.eye(kept), atol=1e-3)
    np.testing.assert_allclose(white.mean(0), np.zeros(kept), atol=1e-3)
    with torch.no_grad():
        unit = normalise({"sentence_embedding": white})["sentence_embedding"]
    np.testing.assert_allclose(unit.norm(dim=1), np.ones(200), atol=1e-9)


def test_the_kept_directions_are_those_of_the_largest_variance() -> None:
    vectors = torch.randn(500, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor(
        [1.0, 9.0, 3.0]
    )
    moments = Moments(3)
    moments.add(vectors)
    dense, _ = whitening(moments, 2)
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


def test_refusals(tiny_bert: Path) -> None:
    base = averaged_encoder(str(tiny_bert), "mean")
    with pytest.raises(UserError, match="32 sentences cannot tell the covariance of 32 dim"):
        whiten(base, sentences(32), quiet=True)
    with pytest.raises(UserError, match="dimensions = 33 is more than the 32"):
        whiten(base, sentences(64), 33, quiet=True)
    with pytest.raises(UserError, match="100 sentences are too few for a flow in batches of 64"):
        fit_flow(base, sentences(100), quiet=True)


def a_flow(dimension: int = 16) -> Flow:
    """A flow in double precision of which nothing is at its start."""
    torch.manual_seed(0)
    flow = Flow(dimension, width=5).double()
    flow.train()(correlated(64, dimension))
    with torch.no_grad():
        for parameter in flow.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return flow.eval()


def test_flow_starts_with_normalised_channels() -> None:
    flow = Flow(16).double().train()
    z = flow(correlated(64, 16))
    # The couplings add nothing yet, so each norm sees what the one before has normalised.
    np.testing.assert_allclose(z.detach().mean(0), np.zeros(16), atol=1e-9)
    np.testing.assert_allclose(z.detach().std(0), np.ones(16), atol=1e-9)


def test_flow_is_invertible() -> None:
    flow, x = a_flow(), correlated(10, 16, seed=1)
    with torch.no_grad():
        z = flow(x)
        assert (z - x).abs().max() > 1
        np.testing.assert_allclose(flow.inverse(z), x, atol=1e-9)


def test_log_determinant_is_that_of_the_jacobian() -> None:
    flow = a_flow()
    for x in correlated(3, 16, seed=1):
        jacobian = torch.autograd.functional.jacobian(lambda v: flow(v[None])[0], x)
        _, expected = np.linalg.slogdet(jacobian)
        assert flow.log_determinant.item() == pytest.approx(expected, abs=1e-9)
        normal = torch.distributions.Normal(0, 1).log_prob(flow(x[None])).sum().item()
        likelihood = flow.negative_log_likelihood(x[None]).item()
        assert likelihood == pytest.approx(-(normal + expected) / 16, abs=1e-9)


def test_layers_compute_the_flow() -> None:
    flow, x = a_flow(), correlated(10, 16, seed=1).float()
    with torch.no_grad():
        expected = flow(x.double())
        features = {"sentence_embedding": x}
        for layer in flow_layers(flow):
            features = layer(features)
    scale = expected.abs().max()
    np.testing.assert_allclose(features["sentence_embedding"] / scale, expected / scale, atol=1e-5)


def test_fitted_flow_is_likelier_repeatable_and_opens_anywhere(
    tmp_path: Path, tiny_bert: Path
) -> None:
    base = averaged_encoder(str(tiny_bert), "first-last-avg")
    corpus = sentences(640)
    model = fit_flow(base, corpus, batch_size=32, quiet=True)
    again = fit_flow(base, corpus, batch_size=32, quiet=True)
    np.testing.assert_array_equal(model.encode(corpus[:5]), again.encode(corpus[:5]))
    other = fit_flow(base, corpus, batch_size=32, seed=1, quiet=True)
    assert np.abs(model.encode(corpus[:5]) - other.encode(corpus[:5])).max() > 1e-3
    model.save(str(tmp_path))
    vectors = model.encode(corpus)
    np.testing.assert_allclose(open_plain(tmp_path).encode(corpus), vectors, atol=1e-5)
    assert base.encode(corpus).std(0).max() < 0.3 < vectors.std(0).min()


def test_flow_gets_likelier() -> None:
    torch.manual_seed(0)
    x = correlated(512, 16).float()
    flow = Flow(16).train()
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    likelihoods = []
    for _ in range(30):
        loss = flow.negative_log_likelihood(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        likelihoods.append(loss.item())
    assert likelihoods[-1] < likelihoods[0] - 0.1


def test_small_variances_are_raised_to_the_floor() -> None:
    moments = Moments(2)
    moments.add(torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 0.2], [0.0, -0.2]]))
    dense, _ = whitening(moments, floor=0.25)
    # The variances are 8/3 and 0.08/3; the second is raised to a quarter of the first.
    expected = torch.diag(torch.tensor([(8 / 3) ** -0.5, (2 / 3) ** -0.5]))
    torch.testing.assert_close(dense.linear.weight.abs(), expected)
