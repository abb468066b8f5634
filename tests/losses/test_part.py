"""The frame joins whatever parts say: negatives, cells, positives, penalties, their state and news."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from clusterns.losses import part as part_module
from clusterns.losses.clusterns import Clustering, ClusterNSLoss
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.part import Batch, Part, Penalty, Rows, Terms, TermsOf
from clusterns.methods.clusterns import ClusteringSettings
from tests.helpers.vectors import D, LinearEncoder, N, Vectors, batches, features
from tests.losses.oracle import cosine

TAU = 0.5


class Negatives(Part):
    """Two fixed negatives, the second of which counts three times."""

    n_negatives = 2

    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        self.vectors = vectors

    def terms(self, batch: Batch, training: bool) -> TermsOf:
        unit = nn.functional.normalize(self.vectors, dim=-1)
        return lambda rows: Terms(
            negatives=rows.anchors @ unit.T,
            negative_weights=torch.tensor([1.0, 3.0], dtype=torch.float64),
        )


class MoreNegatives(Part):
    """Two more, without weights, beside those that have some."""

    n_negatives = 2

    def terms(self, batch: Batch, training: bool) -> TermsOf:
        return lambda rows: Terms(negatives=rows.anchors @ rows.all_anchors[:2].detach().T)


class Excluded(Part):
    """The row after one's own is left out; the one before is a positive."""

    def terms(self, batch: Batch, training: bool) -> TermsOf:
        def terms(rows: Rows) -> Terms:
            n = len(rows.all_anchors)
            columns = torch.arange(n)
            return Terms(
                mask=columns == ((rows.index + 1) % n)[:, None],
                extra_positives=columns == ((rows.index - 1) % n)[:, None],
            )

        return terms


class Weighted(Part):
    """The pair of anchor i and positive j counts 1 + |i - j| times."""

    def terms(self, batch: Batch, training: bool) -> TermsOf:
        def terms(rows: Rows) -> Terms:
            apart = (rows.index[:, None] - torch.arange(len(rows.all_anchors))).abs()
            return Terms(in_batch_weights=1 + apart.double())

        return terms


class Gap(Part):
    """Holds the third view away from the anchor; every second row counts."""

    def terms(self, batch: Batch, training: bool) -> TermsOf:
        def terms(rows: Rows) -> Terms:
            third = rows.all_views[2][rows.index]
            counts = (rows.index % 2 == 0).long()
            return Terms(
                penalties=[Penalty("gap", (rows.anchors * third).sum(1) * counts, counts, 0.7)]
            )

        return terms


class TwiceWeighted(Weighted):
    """The weights of two parts are multiplied."""


def third(anchors: Tensor) -> Tensor:
    return (anchors.detach().flip(0) + 0.1).requires_grad_()


def oracle(views: list[Tensor], extra: Tensor) -> Tensor:
    a, p, t = views
    n = len(a)
    losses, gaps = [], []
    for i in range(n):
        logits = [cosine(a[i], p[j]) / TAU for j in range(n)]
        denominator = sum(
            (1 + abs(i - j)) ** 2 * logits[j].exp() for j in range(n) if j != (i + 1) % n
        )
        for weight, negative in zip((1.0, 3.0), extra, strict=True):
            denominator = denominator + weight * (cosine(a[i], negative) / TAU).exp()
        for negative in a[:2].detach():
            denominator = denominator + (cosine(a[i], negative) / TAU).exp()
        own, before = (denominator.log() - logits[j] for j in (i, (i - 1) % n))
        losses.append((own + before) / 2)
        if i % 2 == 0:
            gaps.append(cosine(a[i], t[i]))
    return sum(losses) / n + 0.7 * sum(gaps) / len(gaps)


@pytest.mark.parametrize("frame", [{}, {"mini_batch_size": 5}, {"gradient_cache": True}, "slices"])
def test_parts_join_and_equal_the_oracle(frame: object, monkeypatch: pytest.MonkeyPatch) -> None:
    if frame == "slices":
        monkeypatch.setattr(part_module, "MAX_ELEMENTS", 5 * (N + 4))  # 5, 5 and 2 anchors
    extra = torch.randn(2, D, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    encoder = LinearEncoder()
    linear = encoder.linear
    loss = ContrastiveLoss(
        encoder,
        TAU,
        parts=[
            Negatives(extra), MoreNegatives(), Excluded(), Gap(), Weighted(), TwiceWeighted(),
        ],
        **(frame if isinstance(frame, dict) else {}),
    )  # fmt: skip
    anchors, positives = batches()[0]
    views = [anchors, positives, third(anchors)]
    value = loss([features(view.detach()) for view in views])
    value.backward()
    gradient = linear.weight.grad.clone()
    linear.zero_grad()
    expected = oracle([linear(view.detach()) for view in views], extra)
    expected.backward()
    assert value.item() == pytest.approx(expected.item(), abs=1e-9)
    torch.testing.assert_close(gradient, linear.weight.grad, atol=1e-9, rtol=1e-9)
    assert gradient.abs().max() > 1e-3
    assert set(loss.components) == {"contrastive_loss", "gap"}
    assert loss.diagnostics()["gap"] == pytest.approx(loss.components["gap"].item(), abs=1e-6)


def test_what_one_part_takes_for_a_positive_no_other_takes_out() -> None:
    class All(Part):
        def terms(self, batch: Batch, training: bool) -> TermsOf:
            return lambda rows: Terms(
                mask=torch.ones_like(rows.similarities, dtype=torch.bool).scatter(
                    1, rows.index[:, None], False
                )
            )

    anchors, positives = batches()[0]
    columns = [features(anchors), features(positives)]
    loss = ContrastiveLoss(Vectors(), TAU, parts=[Excluded(), All()])(columns)
    total = 0.0
    for i in range(N):
        kept = [cosine(anchors[i], positives[j]) / TAU for j in (i, (i - 1) % N)]
        total += (torch.stack(kept).logsumexp(0) - sum(kept) / 2).item()
    assert loss.item() == pytest.approx(total / N, abs=1e-9)


def test_slices_make_room_for_extra_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    class Wide(Part):
        n_negatives = 3 * N

        def terms(self, batch: Batch, training: bool) -> TermsOf:
            def terms(rows: Rows) -> Terms:
                seen.append(len(rows.anchors))
                return Terms()

            return terms

    monkeypatch.setattr(part_module, "MAX_ELEMENTS", 8 * N)
    anchors, positives = batches()[0]
    ContrastiveLoss(Vectors(), parts=[Wide()])([features(anchors), features(positives)])
    assert seen == [2] * (N // 2)
    assert part_module.max_elements(torch.device("cuda")) > 100 * 2**14


class Memory(Part):
    """Counts the steps, sees columns, has news."""

    counters = ("calls",)

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))
        self.calls = 0
        self.seen: list[tuple[int, bool, bool]] = []

    def observe(self, model, columns, training: bool) -> None:
        self.seen.append((len(columns), training, torch.is_grad_enabled()))

    def terms(self, batch: Batch, training: bool) -> TermsOf | None:
        if training:
            self.steps += 1
            self.calls += 1
            self.events.append(f"step {self.calls} taken")
        return None

    def summary(self):
        return {"steps_taken": int(self.steps), "calls": self.calls}

    def warning(self) -> str:
        return "that was it."


def test_a_part_observes_columns_and_has_state_events_a_summary_and_a_warning() -> None:
    part = Memory()
    loss = ContrastiveLoss(Vectors(), parts=[part], auxiliary_columns=1)
    anchors, positives = batches()[0]
    columns = [features(anchors), features(positives), {"input_ids": torch.ones(N, 1)}]
    loss(columns)
    with torch.no_grad():
        loss(columns)
    assert part.seen == [(3, True, False), (3, False, False)]
    assert loss.pop_events() == ["step 1 taken"]
    assert loss.pop_events() == []
    assert loss.state_dict().keys() == {"parts.Memory.steps", "parts.Memory._extra_state"}
    assert loss.summary() == {"steps_taken": 1, "calls": 1}
    assert loss.warnings() == ["that was it."]
    other = ContrastiveLoss(Vectors(), parts=[Memory()])
    other.load_state_dict(loss.state_dict())
    assert other.summary() == {"steps_taken": 1, "calls": 1}
    with pytest.raises(ValueError, match="two parts of the same class"):
        ContrastiveLoss(Vectors(), parts=[Memory(), Memory()])


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_half_precision_is_compared_in_single(half: torch.dtype) -> None:
    def run(enabled: bool, dtype: torch.dtype) -> list[float]:
        settings = {"clusters": 4, "start_step": 1, "margin_weight": 1.0, "variant": "released"}
        loss = ClusterNSLoss(Vectors(), **settings)
        values = []
        for pair in batches():
            with torch.autocast("cpu", half, enabled=enabled):
                value = loss([features(view.to(dtype)) for view in pair])
            assert value.dtype == torch.float32
            value.backward()
            values.append(value.item())
        return values

    assert run(True, torch.float32) == run(False, torch.float32)  # under autocast
    assert run(True, half) == run(False, half)


def test_the_state_follows_the_rows_to_their_device() -> None:
    part = Clustering(ClusteringSettings(clusters=4, start_step=1), D)
    part.start(torch.randn(4, D))
    loss = ContrastiveLoss(Vectors(), parts=[part])
    columns = [
        {key: value.to("meta") for key, value in features(torch.randn(N, D)).items()}
        for _ in range(2)
    ]
    value = loss(columns)  # a matrix on another device would raise
    assert value.device.type == part.centroids.device.type == "meta"


def test_chunks_never_hold_a_square_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest tensor that a step keeps for its backward pass; test_clusterns.py compares the numbers."""

    def largest() -> int:
        loss = ClusterNSLoss(Vectors(), clusters=4, start_step=1, margin_weight=1.0).double()
        sizes: list[int] = []

        def keep(tensor: Tensor) -> Tensor:
            sizes.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            for pair in batches():
                loss([features(view) for view in pair])
        return max(sizes)

    assert largest() >= N * N
    monkeypatch.setattr(part_module, "MAX_ELEMENTS", 5 * N)  # 5, 5 and 2 anchors
    assert largest() <= N * max(D, 4)
