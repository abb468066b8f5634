from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from clusterns.encoder.flow import Flow, fit_flow, flow_layers
from clusterns.encoder.load import averaged_encoder
from clusterns.encoder.whitening import whiten
from clusterns.errors import UserError
from tests.helpers.models import open_plain
from tests.helpers.texts import sentences
from tests.helpers.vectors import correlated


def test_refusals(tiny_bert: Path) -> None:
    base = averaged_encoder(str(tiny_bert), "mean")
    with pytest.raises(UserError, match="needs more than 32 sentences, but there are 32"):
        whiten(base, sentences(32), quiet=True)
    with pytest.raises(UserError, match="dimensions = 33 exceeds the 32"):
        whiten(base, sentences(64), 33, quiet=True)
    with pytest.raises(UserError, match="100 sentences are too few to fit a flow in batches of 64"):
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


def test_flow_starts_with_normalized_channels() -> None:
    flow = Flow(16).double().train()
    z = flow(correlated(64, 16))
    # The couplings add nothing yet, so each norm sees what the one before has normalized.
    np.testing.assert_allclose(z.detach().mean(0), np.zeros(16), atol=1e-9)
    np.testing.assert_allclose(z.detach().std(0), np.ones(16), atol=1e-9)


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


def test_a_fitted_flow_is_repeatable_and_opens_anywhere(tmp_path: Path, tiny_bert: Path) -> None:
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
