"""The fast dropout is dropout: its rate, its scale, its gradient, its random state."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from clusterns.encoder.base import load_base
from clusterns.encoder.dropout import FastDropout, draw_dropout_fast, has_dropout, set_dropout


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_drops_the_asked_share_and_keeps_the_mean(probability: float) -> None:
    torch.manual_seed(0)
    ones = torch.ones(1000, 301)
    dropped = FastDropout(probability)(ones)
    spread = (probability * (1 - probability) / ones.numel()) ** 0.5
    assert (dropped == 0).float().mean().item() == pytest.approx(probability, abs=5 * spread)
    kept = dropped[dropped != 0]
    assert kept.unique().numel() == 1
    assert kept[0].item() == pytest.approx(1 / (1 - probability), rel=1e-3)


def test_neighbouring_cells_are_independent() -> None:
    """Four cells share one draw of 64 bits: each pair of them is dropped together by chance only."""
    torch.manual_seed(0)
    zeros = (FastDropout(0.3)(torch.ones(100_000, 4)) == 0).double()
    together = zeros.T @ zeros / len(zeros)
    expected = torch.full((4, 4), 0.09, dtype=torch.double).fill_diagonal_(0.3)
    assert torch.allclose(together, expected, atol=0.01)


@pytest.mark.parametrize("cells", [1, 2, 3, 5])
def test_odd_sizes(cells: int) -> None:
    assert FastDropout(0.5)(torch.ones(cells)).shape == (cells,)


def test_the_gradient_passes_where_the_value_does() -> None:
    x = torch.randn(50, 7, requires_grad=True)
    y = FastDropout(0.4)(x)
    y.sum().backward()
    assert x.grad is not None
    assert torch.allclose(x.grad * x, y)


def test_it_follows_the_random_state() -> None:
    dropout, x = FastDropout(0.5), torch.randn(64)
    state = torch.get_rng_state()
    first, second = dropout(x), dropout(x)
    torch.set_rng_state(state)
    assert torch.equal(first, dropout(x))
    assert not torch.equal(first, second)


def test_all_or_nothing() -> None:
    x = torch.randn(64)
    assert FastDropout(0.0)(x) is x or torch.equal(FastDropout(0.0)(x), x)
    assert torch.equal(FastDropout(0.5).eval()(x), x)
    assert torch.equal(FastDropout(1.0)(x), torch.zeros(64))


def test_a_model_keeps_its_rates_and_its_weights(tiny_bert: Path) -> None:
    model = load_base(str(tiny_bert))
    names = list(model.state_dict())
    rates = [m.p for m in model.modules() if isinstance(m, nn.Dropout)]
    draw_dropout_fast(model)
    changed = [m for m in model.modules() if isinstance(m, nn.Dropout)]
    assert all(isinstance(module, FastDropout) for module in changed)
    assert [module.p for module in changed] == rates
    assert list(model.state_dict()) == names
    assert has_dropout(model)
    set_dropout(model, 0.0)
    assert not has_dropout(model)
