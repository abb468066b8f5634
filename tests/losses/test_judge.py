from __future__ import annotations

import pytest
import torch
from torch import Tensor

from clusterns.losses import part as part_module
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.dclr import Guide
from clusterns.methods.dclr import GuideSettings
from tests.helpers.vectors import N, Vectors, features
from tests.losses.by_hand import equal, info_nce_by_hand, views
from tests.losses.oracle import cosine

GROUPS = 3


class Grouping(Vectors):
    """A judge that knows the groups: rows i, i + 3, i + 6, ... are alike."""

    def forward(self, rows: dict[str, Tensor]) -> dict[str, Tensor]:
        places = (rows["input_ids"][:, 0] - 1) % GROUPS
        return {"sentence_embedding": torch.eye(GROUPS, dtype=torch.float64)[places]}


def numbered(vectors: Tensor) -> dict[str, Tensor]:
    found = features(vectors)
    return {**found, "input_ids": torch.arange(1, N + 1)[:, None].repeat(1, 3)}


def test_judged_pairs_contribute_nothing() -> None:
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
    # The judge is the identity: what it finds alike can be read off the anchors.
    def by_hand(some: list[Tensor], _: int) -> Tensor:
        fixed = [view.detach() for view in some]
        return info_nce_by_hand(
            some, lambda s, i: [], lambda i, j: cosine(fixed[0][i], fixed[0][j]) > 0.3
        )

    equal(lambda: Guide(GuideSettings(guide_threshold=0.3), Vectors()), by_hand, 2, monkeypatch)


def test_a_judge_in_half_precision_is_compared_in_single(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_judge_is_frozen_and_no_part_of_the_checkpoint() -> None:
    judge = torch.nn.Sequential(torch.nn.Linear(2, 2))
    loss = ContrastiveLoss(Vectors(), parts=[Guide(GuideSettings(), judge)])
    assert not judge.training
    assert not any(parameter.requires_grad for parameter in judge.parameters())
    assert not list(loss.parameters())
