"""A large batch is compared in slices: the same numbers, and no matrix of its square."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from clusterns.losses import part as part_module
from clusterns.losses.clusterns import ClusterNSLoss
from clusterns.losses.contrastive import ContrastiveLoss
from tests.helpers.vectors import SETTINGS, STEPS, D, N, Vectors, batches, features

CASES = {"SimCSE": None, **SETTINGS}


def run(settings: dict | None) -> tuple[list[float], list[Tensor], list[int], ContrastiveLoss]:
    """Values, gradients, and the size of the largest tensor that each step kept for backward."""
    if settings is None:
        loss: ContrastiveLoss = ContrastiveLoss(Vectors())
    else:
        frame = {"clusters": 4, "sigma": 0.9, "momentum": 0.05, "margin_weight": 1.0}
        if "start_step" in settings:
            del frame["sigma"]
        loss = ClusterNSLoss(Vectors(), **{**frame, **settings}).double()
    values, gradients, kept = [], [], []
    for pair in batches():
        largest = 0

        def keep(tensor: Tensor) -> Tensor:
            nonlocal largest
            largest = max(largest, tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            value = loss([features(view) for view in pair])
        gradients += torch.autograd.grad(value, pair)
        values.append(value.item())
        kept.append(largest)
    return values, gradients, kept, loss


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES.keys())
def test_slices_give_the_same_loss_gradients_and_centroids(
    settings: dict | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, gradients, kept, whole = run(settings)
    monkeypatch.setattr(part_module, "MAX_ELEMENTS", 5 * N)  # slices of 5, 5 and 2 anchors
    sliced_values, sliced_gradients, sliced_kept, sliced = run(settings)
    assert sliced_values == pytest.approx(values, abs=1e-12)
    torch.testing.assert_close(sliced_gradients, gradients, atol=1e-12, rtol=1e-9)
    assert max(float(gradient.abs().max()) for gradient in gradients) > 1e-3
    assert min(kept) >= N * N
    assert max(sliced_kept) <= N * max(D, 4)
    for key, value in whole.state_dict().items():
        torch.testing.assert_close(sliced.state_dict()[key], value)
    if isinstance(sliced, ClusterNSLoss):
        assert sliced.clustering.step == STEPS
        assert sliced.clustering.started_at is not None
