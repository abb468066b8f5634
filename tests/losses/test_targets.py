"""Targets and document positives against plain loops, with gradients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from clusterns.losses import batch as batch_module
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.same_document import SameDocument
from clusterns.losses.targets import Targets
from tests.losses.by_hand import TEMPERATURE, info_nce_by_hand, views
from tests.losses.oracle import cosine
from tests.losses.test_cluster_ns import D, N, Vectors, features

ROWS = 3 * N


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "targets.npy"
    np.save(path, np.random.default_rng(0).normal(size=(ROWS, D)))
    return path


def same(ours: Tensor, theirs: Tensor, some: list[Tensor]) -> None:
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-9)
    pairs = zip(torch.autograd.grad(ours, some), torch.autograd.grad(theirs, some), strict=True)
    for a, b in pairs:
        torch.testing.assert_close(a, b, atol=1e-9, rtol=1e-9)
        assert float(b.abs().max()) > 1e-6, "no gradient: the test shows nothing"


@pytest.mark.parametrize("most", [2**18, 5 * N])
def test_targets_equal_plain_loops(file: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_module, "MOST_CELLS", most)
    targets = torch.from_numpy(np.load(file))
    loss = ContrastiveLoss(Vectors(), parts=[Targets(file, 7.0)], views=1, contrastive=False)
    generator = torch.Generator().manual_seed(1)
    for (anchors,) in views(1):
        numbers = torch.randperm(ROWS, generator=generator)[:N]
        away = [1 - cosine(a, targets[n]) for a, n in zip(anchors, numbers, strict=True)]
        same(loss([features(anchors)], numbers), 7.0 * sum(away) / N, [anchors])


def test_a_dry_run_has_every_sentence_for_its_own_target() -> None:
    ((anchors,), *_) = views(1)
    loss = ContrastiveLoss(Vectors(), parts=[Targets(None)], views=1, contrastive=False)
    assert loss([features(anchors)], torch.arange(N)).item() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("most", [2**18, 5 * N])
def test_document_positives_equal_plain_loops(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_module, "MOST_CELLS", most)
    loss = ContrastiveLoss(Vectors(), TEMPERATURE, parts=[SameDocument(TEMPERATURE)])
    for some in views(2):
        documents = torch.arange(N) // 3
        whole = loss([features(view) for view in some], documents)
        alike = documents.tolist()

        def left_out(i: int, j: int, of: list[int] = alike) -> bool:
            return of[i] == of[j]

        there = info_nce_by_hand(some, lambda s, i: [], left_out)
        back = info_nce_by_hand(some[::-1], lambda s, i: [], left_out)
        same(whole, there + back, some)
        # Other rows of the document would change it.
        apart = loss([features(view) for view in some], torch.arange(N))
        assert abs(apart.item() - whole.item()) > 1e-4


@pytest.mark.parametrize("part", [Targets(None), SameDocument()])
def test_rows_without_labels_are_refused(part: Targets | SameDocument) -> None:
    (some, *_) = views(2)
    with pytest.raises(ValueError, match="labels"):
        ContrastiveLoss(Vectors(), parts=[part])([features(view) for view in some])
