"""The frame joins whatever parts say: negatives, cells, positives, penalties, their state and news."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from clusterns.losses import batch as batch_module
from clusterns.losses.batch import Batch, Rows
from clusterns.losses.clustering import Clustering
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.part import Part, Penalty, Terms, TermsOf
from tests.helpers.vectors import D, N, Vectors, batches, features
from tests.losses.oracle import cosine

TAU = 0.5


class Negatives(Part):
    """Two fixed negatives, the second of which counts three times."""

    columns = 2

    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        self.vectors = vectors

    def follow(self, batch: Batch, learn: bool) -> TermsOf:
        unit = nn.functional.normalize(self.vectors, dim=-1)
        return lambda rows: Terms(
            negatives=rows.anchors @ unit.T,
            negative_weights=torch.tensor([1.0, 3.0], dtype=torch.float64),
        )


class Excluded(Part):
    """The row after one's own is left out; the one before is a positive."""

    def follow(self, batch: Batch, learn: bool) -> TermsOf:
        def terms(rows: Rows) -> Terms:
            n = len(rows.all_anchors)
            columns = torch.arange(n)
            return Terms(
                excluded=columns == ((rows.targets + 1) % n)[:, None],
                extra_positives=columns == ((rows.targets - 1) % n)[:, None],
            )

        return terms


class Gap(Part):
    """Holds the third view away from the anchor; every second row counts."""

    def follow(self, batch: Batch, learn: bool) -> TermsOf:
        def terms(rows: Rows) -> Terms:
            third = rows.all_views[2][rows.targets]
            counts = (rows.targets % 2 == 0).long()
            return Terms(
                penalties=[Penalty("gap", (rows.anchors * third).sum(1) * counts, counts, 0.7)]
            )

        return terms


def third(anchors: Tensor) -> Tensor:
    return (anchors.detach().flip(0) + 0.1).requires_grad_()


def oracle(views: list[Tensor], extra: Tensor) -> Tensor:
    a, p, t = views
    n = len(a)
    losses, gaps = [], []
    for i in range(n):
        logits = [cosine(a[i], p[j]) / TAU for j in range(n)]
        denominator = sum(logits[j].exp() for j in range(n) if j != (i + 1) % n)
        for weight, negative in zip((1.0, 3.0), extra, strict=True):
            denominator = denominator + weight * (cosine(a[i], negative) / TAU).exp()
        own, before = (denominator.log() - logits[j] for j in (i, (i - 1) % n))
        losses.append((own + before) / 2)
        if i % 2 == 0:
            gaps.append(cosine(a[i], t[i]))
    return sum(losses) / n + 0.7 * sum(gaps) / len(gaps)


@pytest.mark.parametrize("frame", [{}, {"mini_batch_size": 5}, {"gradient_cache": True}, "slices"])
def test_parts_join_and_equal_the_oracle(frame: object, monkeypatch: pytest.MonkeyPatch) -> None:
    if frame == "slices":
        monkeypatch.setattr(batch_module, "MOST_CELLS", 5 * (N + 2))  # 5, 5 and 2 anchors
    extra = torch.randn(2, D, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    linear = nn.Linear(D, D, dtype=torch.float64)

    class Encoder(Vectors):
        def __init__(self) -> None:
            super().__init__()
            self.linear = linear

        def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
            return {"sentence_embedding": self.linear(features["vectors"])}

    loss = ContrastiveLoss(
        Encoder(), TAU, parts=[Negatives(extra), Excluded(), Gap()],
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
    assert set(loss.parts) == {"contrastive_loss", "gap"}
    assert loss.diagnostics()["gap"] == pytest.approx(loss.parts["gap"].item(), abs=1e-6)


def test_what_one_part_takes_for_a_positive_no_other_takes_out() -> None:
    class All(Part):
        def follow(self, batch: Batch, learn: bool) -> TermsOf:
            return lambda rows: Terms(
                excluded=torch.ones_like(rows.similarities, dtype=torch.bool).scatter(
                    1, rows.targets[:, None], False
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
        columns = 3 * N

        def follow(self, batch: Batch, learn: bool) -> TermsOf:
            def terms(rows: Rows) -> Terms:
                seen.append(len(rows.anchors))
                return Terms()

            return terms

    monkeypatch.setattr(batch_module, "MOST_CELLS", 8 * N)
    anchors, positives = batches()[0]
    ContrastiveLoss(Vectors(), parts=[Wide()])([features(anchors), features(positives)])
    assert seen == [2] * (N // 2)
    assert batch_module.most_cells(torch.device("cuda")) > 100 * 2**14


class Memory(Part):
    """Counts the steps, sees columns, has news."""

    def __init__(self) -> None:
        super().__init__()
        self.counter = nn.Module()
        self.counter.register_buffer("steps", torch.zeros(()))
        self.state = {"counter": self.counter}
        self.seen: list[tuple[int, bool, bool]] = []

    def see(self, model, columns, learn: bool) -> None:
        self.seen.append((len(columns), learn, torch.is_grad_enabled()))

    def follow(self, batch: Batch, learn: bool) -> TermsOf | None:
        if learn:
            self.counter.steps += 1
            self.events.append(f"step {int(self.counter.steps)} taken")
        return None

    def facts(self):
        return {"steps_taken": int(self.counter.steps)}

    def last_words(self) -> str:
        return "that was it."


def test_a_part_sees_the_columns_has_state_news_facts_and_last_words() -> None:
    part = Memory()
    loss = ContrastiveLoss(Vectors(), parts=[part], aside=1)
    anchors, positives = batches()[0]
    columns = [features(anchors), features(positives), {"input_ids": torch.ones(N, 1)}]
    loss(columns)
    with torch.no_grad():
        loss(columns)
    assert part.seen == [(3, True, False), (3, False, False)]
    assert loss.take_events() == ["step 1 taken"]
    assert loss.take_events() == []
    assert loss.state_dict().keys() == {"counter.steps"}
    assert loss.facts() == {"steps_taken": 1}
    assert loss.last_words() == ["that was it."]
    other = ContrastiveLoss(Vectors(), parts=[Memory()])
    other.load_state_dict(loss.state_dict())
    assert other.facts() == {"steps_taken": 1}
    with pytest.raises(ValueError, match="called 'counter'"):
        ContrastiveLoss(Vectors(), parts=[Memory(), Memory()])


@pytest.mark.parametrize("name", ["paper", "released"])
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_under_autocast_cosines_stay_exact(name: str, half: torch.dtype) -> None:
    def run(enabled: bool) -> list[float]:
        part = Clustering(D, clusters=4, start_step=1, margin_weight=1.0, variant=name)  # type: ignore[arg-type]
        loss = ContrastiveLoss(Vectors(), parts=[part])
        values = []
        for anchors, positives in batches():
            with torch.autocast("cpu", half, enabled=enabled):
                value = loss([features(anchors.float()), features(positives.float())])
            value.backward()
            values.append(value.item())
        return values

    assert run(True) == run(False)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_half_precision_vectors_are_compared_in_single(half: torch.dtype) -> None:
    part = Clustering(D, clusters=4, start_step=1, variant="released")
    loss = ContrastiveLoss(Vectors(), parts=[part])
    for anchors, positives in batches():
        value = loss([features(anchors.to(half)), features(positives.to(half))])
        assert value.dtype == torch.float32
        value.backward()


def test_the_state_follows_the_rows_to_their_device() -> None:
    part = Clustering(D, clusters=4, start_step=1)
    part.centroids.start(torch.randn(4, D))
    loss = ContrastiveLoss(Vectors(), parts=[part])
    columns = [
        {key: value.to("meta") for key, value in features(torch.randn(N, D)).items()}
        for _ in range(2)
    ]
    value = loss(columns)  # a matrix on another device would raise
    assert value.device.type == part.centroids.vectors.device.type == "meta"
