"""Document positives against plain loops, with gradients."""

from __future__ import annotations

import pytest
import torch

from clusterns.losses import batch as batch_module
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.same_document import SameDocument
from tests.losses.by_hand import TEMPERATURE, info_nce_by_hand, views
from tests.losses.test_cluster_ns import N, Vectors, features


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
        assert whole.item() == pytest.approx((there + back).item(), abs=1e-9)
        pairs = zip(
            torch.autograd.grad(whole, some, retain_graph=True),
            torch.autograd.grad(there + back, some),
            strict=True,
        )
        for ours, theirs in pairs:
            torch.testing.assert_close(ours, theirs, atol=1e-9, rtol=1e-9)
            assert float(theirs.abs().max()) > 1e-6, "no gradient: the test shows nothing"
        # Other rows of the document would change it.
        apart = loss([features(view) for view in some], torch.arange(N))
        assert abs(apart.item() - whole.item()) > 1e-4


def test_rows_without_labels_are_refused() -> None:
    (some, *_) = views(2)
    with pytest.raises(ValueError, match="labels"):
        ContrastiveLoss(Vectors(), parts=[SameDocument()])([features(view) for view in some])
