"""A fitted flow as layers of Sentence Transformers, so that plain Sentence Transformers opens it.

A residual layer out = relu(W s + b) + s carries the vector x of the state s = (x, h1, h2) as it is
and writes a hidden layer of the coupling's network into its own, empty places; then a linear layer
adds the network's output to x, applies the next step's activation norm and reversal, and empties h1
and h2. That makes three layers a step, of (d + 64) x (d + 64) numbers each.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import torch
from sentence_transformers.base.modules import Dense, Module
from torch import Tensor, nn

from clusterns.encoder.flow import ActNorm, Flow, Step


def flow_layers(flow: Flow) -> list[Module]:
    """The modules that compute ``flow``; they are exact up to rounding."""
    with torch.no_grad():
        return list(_layers(flow.double()))


def _layers(flow: Flow) -> Iterator[Module]:
    steps = [*chain.from_iterable(flow.levels)]
    d = flow.dimension
    width = steps[0].network.second.out_features
    state = d + 2 * width
    weight, bias = _padded(*_before(steps[0], d), rows=state)
    yield _dense(weight, bias)
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        network, cut = step.network, step.cut
        first = torch.zeros(state, state, dtype=torch.float64)
        first_bias = torch.zeros(state, dtype=torch.float64)
        first[d : d + width, :cut], first_bias[d : d + width] = _normed(
            network.first.weight, network.first_norm
        )
        yield _dense(first, first_bias, residual=True)
        second, second_bias = torch.zeros_like(first), torch.zeros_like(first_bias)
        second[d + width :, d : d + width], second_bias[d + width :] = _normed(
            network.second.weight, network.second_norm
        )
        yield _dense(second, second_bias, residual=True)
        # x + network, then what comes before the next step's network.
        scale = (3 * network.log_scale).exp()
        joined = torch.eye(d, state, dtype=torch.float64)
        joined_bias = torch.zeros(d, dtype=torch.float64)
        joined[cut : 2 * cut, d + width :] = network.last.weight * scale[:, None]
        joined_bias[cut : 2 * cut] = network.last.bias * scale
        if following is None:
            yield _dense(joined, joined_bias)
            return
        weight, bias = _before(following, d)
        yield _dense(*_padded(weight @ joined, weight @ joined_bias + bias, rows=state))


def _before(step: Step, dimension: int) -> tuple[Tensor, Tensor]:
    """Activation norm and reversal of a step's channels, the first ones, as weight and bias."""
    channels = 2 * step.cut
    scale = step.norm.log_scale.exp()
    weight = torch.eye(dimension, dtype=torch.float64)
    bias = torch.zeros(dimension, dtype=torch.float64)
    weight[:channels, :channels] = scale.diag().flip(0)
    bias[:channels] = (step.norm.bias * scale).flip(0)
    return weight, bias


def _normed(weight: Tensor, norm: ActNorm) -> tuple[Tensor, Tensor]:
    """A linear layer and the activation norm behind it as one."""
    scale = norm.log_scale.exp()
    return weight * scale[:, None], norm.bias * scale


def _padded(weight: Tensor, bias: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """With rows of zeros below."""
    missing = rows - len(weight)
    return nn.functional.pad(weight, (0, 0, 0, missing)), nn.functional.pad(bias, (0, missing))


def _dense(weight: Tensor, bias: Tensor, residual: bool = False) -> Dense:
    return Dense(
        weight.shape[1],
        weight.shape[0],
        activation_function=nn.ReLU() if residual else None,
        init_weight=weight.float().contiguous(),
        init_bias=bias.float(),
        use_residual=residual,
    )
