"""Parts against plain loops: one InfoNCE row after the other, with whatever a part adds to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from clusterns.losses import part as part_module
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.part import Part
from tests.helpers.vectors import STEPS, D, N, Vectors, features
from tests.losses.oracle import cosine

TEMPERATURE = 0.05
Extra = Callable[[list[Tensor], int], list[Tensor]]
"""From the views and an anchor to the cosines of its extra negatives."""


def views(count: int, seed: int = 0) -> list[list[Tensor]]:
    """Views of a few batches, alike within a sentence."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for _ in range(STEPS):
        centre = torch.randn(N, D, generator=generator, dtype=torch.float64)
        noise = torch.randn(count, N, D, generator=generator, dtype=torch.float64)
        found.append([(centre + 0.4 * each).requires_grad_() for each in noise])
    return found


def info_nce_by_hand(
    some: Sequence[Tensor],
    extra: Extra,
    left_out: Callable[[int, int], bool] = lambda i, j: False,
) -> Tensor:
    """Mean InfoNCE of the anchors some[0] with the positives some[1]."""
    losses = []
    for i in range(len(some[0])):
        cells = [cosine(some[0][i], p) / TEMPERATURE for p in some[1]]
        denominator = sum(c.exp() for j, c in enumerate(cells) if j == i or not left_out(i, j))
        for negative in extra(list(some), i):
            denominator = denominator + (negative / TEMPERATURE).exp()
        losses.append(denominator.log() - cells[i])
    return sum(losses) / len(losses)


def equal(
    make: Callable[[], Part],
    by_hand: Callable[[list[Tensor], int], Tensor],
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loss of a part equals ``by_hand(views, step)`` with gradients, whole and in slices."""
    for most in (2**18, 5 * N):
        monkeypatch.setattr(part_module, "MAX_ELEMENTS", most)
        loss = ContrastiveLoss(Vectors(), TEMPERATURE, parts=[make()], views=count)
        for step, some in enumerate(views(count), 1):
            ours = loss([features(view) for view in some])
            theirs = by_hand(some, step)
            assert ours.item() == pytest.approx(theirs.item(), abs=1e-9)
            pairs = zip(
                torch.autograd.grad(ours, some), torch.autograd.grad(theirs, some), strict=True
            )
            for a, b in pairs:
                torch.testing.assert_close(a, b, atol=1e-9, rtol=1e-9)
                assert float(b.abs().max()) > 1e-6, "no gradient: the test shows nothing"
