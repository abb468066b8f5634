from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.mixcse import MixedNegatives
from clusterns.losses.part import Batch
from clusterns.methods.mixcse import MixingSettings
from tests.helpers.vectors import N, Vectors
from tests.losses.by_hand import equal, info_nce_by_hand
from tests.losses.oracle import cosine


def mixed_by_hand(vectors: Tensor, k: int, share: float) -> Tensor:
    other = vectors[(k + 1) % len(vectors)]
    return (share * vectors[k] + (1 - share) * other).detach()


@pytest.mark.parametrize("both_sides", [False, True])
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_equals_plain_loops(
    share: float, both_sides: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def extra(some: list[Tensor], i: int) -> list[Tensor]:
        anchors, positives = some
        found = [
            cosine(anchors[i], mixed_by_hand(positives, k, share))
            for k in range(N) if k != (i - 1) % N
        ]  # fmt: skip
        if both_sides:
            mine = mixed_by_hand(anchors, i, share)
            found += [cosine(mine, positives[k]) for k in range(N) if k != (i + 1) % N]
        return found

    equal(
        lambda: MixedNegatives(MixingSettings(mixed_share=share, mixed_both_sides=both_sides)),
        lambda some, _: info_nce_by_hand(some, extra),
        2,
        monkeypatch,
    )


def test_hand_computed_row() -> None:
    loss = ContrastiveLoss(Vectors(2), 1.0, parts=[MixedNegatives(MixingSettings(mixed_share=0.5))])
    anchors = torch.eye(2)
    # m_0 and m_1 are both (1/2, 1/2): cosine 1/sqrt(2). Anchor 0 leaves out m_1, anchor 1 m_0.
    expected = math.log(math.e + 1 + math.exp(math.sqrt(0.5))) - 1
    assert loss.compare(Batch.of(anchors, anchors)).item() == pytest.approx(expected, abs=1e-6)
