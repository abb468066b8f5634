from __future__ import annotations

import pytest
import torch
from torch import Tensor

from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.part import Batch
from clusterns.losses.third_view import SoftNegatives, ThirdViewNegatives
from clusterns.methods.sncse import SoftNegativeSettings
from tests.helpers.vectors import N, Vectors
from tests.losses.by_hand import equal, info_nce_by_hand
from tests.losses.oracle import cosine


def test_negatives_equal_plain_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_hand(some: list[Tensor], _: int) -> Tensor:
        return info_nce_by_hand(some, lambda s, i: [cosine(s[0][i], n) for n in s[2]])

    equal(ThirdViewNegatives, by_hand, 3, monkeypatch)


@pytest.mark.parametrize(("weight", "alpha", "beta"), [(1e-3, 0.1, 0.3), (2.0, 0.0, 0.05)])
def test_soft_negatives_equal_plain_loops(
    weight: float, alpha: float, beta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SoftNegativeSettings(soft_weight=weight, soft_alpha=alpha, soft_beta=beta)

    def by_hand(some: list[Tensor], _: int) -> Tensor:
        margins = []
        for i in range(N):
            delta = cosine(some[0][i], some[2][i]) - cosine(some[0][i], some[1][i])
            margins.append((delta + alpha).clamp(min=0) + (-delta - beta).clamp(min=0))
        return info_nce_by_hand(some, lambda s, i: []) + weight * sum(margins) / N

    equal(lambda: SoftNegatives(settings), by_hand, 3, monkeypatch)


def test_a_soft_negative_within_the_margins_costs_nothing() -> None:
    part = SoftNegatives(SoftNegativeSettings(soft_weight=1.0, soft_beta=0.5))
    loss = ContrastiveLoss(Vectors(2), 1.0, parts=[part])
    anchors = torch.eye(2)
    below = torch.tensor([[0.8, 0.6], [0.6, 0.8]])  # cosine 0.8: 0.2 below the positive's
    loss.compare(Batch.of(anchors, anchors, below))
    assert loss.components["soft_negative_loss"].item() == pytest.approx(0, abs=1e-6)
    loss.compare(Batch.of(anchors, anchors, anchors))  # no lower: costs alpha
    assert loss.components["soft_negative_loss"].item() == pytest.approx(0.1, abs=1e-6)
