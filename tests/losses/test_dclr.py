"""DCLR's noise and guide against plain loops."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from clusterns.losses import part as part_module
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.dclr import Guide, NoiseNegatives
from clusterns.losses.part import Batch
from clusterns.methods.dclr import GuideSettings, NoiseSettings
from tests.helpers.vectors import D, N, Vectors, features
from tests.losses.by_hand import TEMPERATURE, equal, info_nce_by_hand, views
from tests.losses.oracle import cosine

GROUPS = 3


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
def test_noise_equals_plain_loops(
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


def test_an_evaluation_takes_no_step_and_each_step_draws_new_noise() -> None:
    part = NoiseNegatives(NoiseSettings())
    loss = ContrastiveLoss(Vectors(), parts=[part])
    columns = [features(view.detach()) for view in views(2)[0]]
    values = [loss(columns).item() for _ in range(3)]
    assert len(set(values)) == 3
    with torch.no_grad():
        loss(columns)
    assert part.step == 3


class Grouping(Vectors):
    """A guide that knows the groups: rows i, i + 3, i + 6, ... are alike."""

    def forward(self, rows: dict[str, Tensor]) -> dict[str, Tensor]:
        places = (rows["input_ids"][:, 0] - 1) % GROUPS
        return {"sentence_embedding": torch.eye(GROUPS, dtype=torch.float64)[places]}


def numbered(vectors: Tensor) -> dict[str, Tensor]:
    found = features(vectors)
    return {**found, "input_ids": torch.arange(1, N + 1)[:, None].repeat(1, 3)}


def test_pairs_that_the_guide_finds_similar_contribute_nothing() -> None:
    for some in views(2):
        loss = ContrastiveLoss(Vectors(), parts=[Guide(GuideSettings(), Grouping())])
        ours = loss([numbered(view) for view in some])
        theirs = info_nce_by_hand(some, lambda s, i: [], lambda i, j: (i - j) % GROUPS == 0)
        assert ours.item() == pytest.approx(theirs.item(), abs=1e-9)
        pairs = zip(torch.autograd.grad(ours, some), torch.autograd.grad(theirs, some), strict=True)
        for a, b in pairs:
            torch.testing.assert_close(a, b, atol=1e-9, rtol=1e-9)
        same = N // GROUPS
        assert loss.diagnostics()["judged_false_negatives"] == pytest.approx((same - 1) / (N - 1))


def test_the_models_own_cosines_above_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    # The guide is the identity: what it finds similar can be read off the anchors.
    def by_hand(some: list[Tensor], _: int) -> Tensor:
        fixed = [view.detach() for view in some]
        return info_nce_by_hand(
            some, lambda s, i: [], lambda i, j: cosine(fixed[0][i], fixed[0][j]) > 0.3
        )

    equal(lambda: Guide(GuideSettings(guide_threshold=0.3), Vectors()), by_hand, 2, monkeypatch)


def test_a_guide_in_half_precision_is_compared_in_single(monkeypatch: pytest.MonkeyPatch) -> None:
    class Half(Vectors):
        def forward(self, rows: dict[str, Tensor]) -> dict[str, Tensor]:
            return {"sentence_embedding": rows["vectors"].to(torch.bfloat16)}

    some = views(2)[0]
    part = Guide(GuideSettings(guide_threshold=0.3), Half())
    loss = ContrastiveLoss(Vectors(), parts=[part])
    loss([features(view) for view in some])
    rounded = some[0].detach().to(torch.bfloat16).double()
    pairs = [(i, j) for i in range(N) for j in range(N) if i != j]
    alike = sum(float(cosine(rounded[i], rounded[j]) > 0.3) for i, j in pairs)
    for most in (2**18, 3 * N):  # counted in slices as well
        monkeypatch.setattr(part_module, "MAX_ELEMENTS", most)
        found = loss.diagnostics()["judged_false_negatives"]
        assert found == pytest.approx(alike / len(pairs), abs=1e-6)
    assert part._vectors is not None
    assert part._vectors.dtype == torch.float32


def test_a_guide_is_frozen_and_no_part_of_the_checkpoint() -> None:
    guide = torch.nn.Sequential(torch.nn.Linear(2, 2))
    loss = ContrastiveLoss(Vectors(), parts=[Guide(GuideSettings(), guide)])
    assert not guide.training
    assert not any(parameter.requires_grad for parameter in guide.parameters())
    assert not list(loss.parameters())
