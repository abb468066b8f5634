from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.dclr import NoiseNegatives
from clusterns.losses.part import Batch
from clusterns.methods.dclr import NoiseSettings
from tests.helpers.vectors import D, N, Vectors, features
from tests.losses.by_hand import TEMPERATURE, equal, info_nce_by_hand, views
from tests.losses.oracle import cosine


def noise_by_hand(some: list[Tensor], step: int, count: int, moves: int, rate: float) -> Tensor:
    """Each move: the gradient of the whole loss, vector by vector of length ``rate``."""
    generator = torch.Generator().manual_seed(7 * 2**32 + step)
    noise = torch.randn((count, D), generator=generator, dtype=torch.float64)
    fixed = [view.detach() for view in some]
    for _ in range(moves):
        moving = noise.clone().requires_grad_()
        loss = info_nce_by_hand(fixed, lambda s, i, m=moving: [cosine(s[0][i], v) for v in m])
        (gradient,) = torch.autograd.grad(loss, moving)
        noise = torch.stack([v + rate * g / g.norm() for v, g in zip(noise, gradient, strict=True)])
    return noise


@pytest.mark.parametrize(
    ("times", "moves", "rate"), [(1.0, 0, 1e-3), (1.5, 2, 0.5), (0.5, 4, 1e-3)]
)
def test_equals_plain_loops(
    times: float, moves: int, rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_hand(some: list[Tensor], step: int) -> Tensor:
        noise = noise_by_hand(some, step, int(times * N), moves, rate)
        return info_nce_by_hand(some, lambda s, i: [cosine(s[0][i], v) for v in noise])

    equal(
        lambda: NoiseNegatives(
            NoiseSettings(noise_ratio=times, noise_steps=moves, noise_step_size=rate), TEMPERATURE, seed=7
        ),
        by_hand, 2, monkeypatch,
    )  # fmt: skip


def test_noise_moves_up_the_gradient() -> None:
    batch = Batch.of(*views(2)[0])
    part = NoiseNegatives(
        NoiseSettings(noise_ratio=2.0, noise_steps=5, noise_step_size=0.3), TEMPERATURE
    )
    part.terms(batch, True)
    still = part.sample(batch.all_anchors)
    climbed = part.ascend(still, batch)

    def loss_with(noise: Tensor) -> float:
        unit = F.normalize(noise, dim=-1)
        return info_nce_by_hand(
            [view.detach() for view in batch.all_views],
            lambda s, i: list(F.normalize(s[0][i], dim=-1) @ unit.T),
        ).item()

    assert loss_with(climbed) > loss_with(still) + 0.1


def test_noise_is_no_source_of_gradient_and_the_same_after_a_resume() -> None:
    noise = NoiseNegatives(NoiseSettings(), seed=3)
    first, second = (
        ContrastiveLoss(Vectors(), parts=[part])
        for part in (noise, NoiseNegatives(NoiseSettings(), seed=3))
    )
    steps = views(2)
    for some in steps[:3]:
        first([features(view) for view in some])
    second.load_state_dict(first.state_dict())
    values = [
        [loss([features(view) for view in some]).item() for some in steps[3:]]
        for loss in (first, second)
    ]
    assert values[0] == values[1]
    assert len(set(values[0])) == len(values[0])
    with torch.no_grad():
        before = noise.step
        first([features(view) for view in steps[0]])
        assert noise.step == before
