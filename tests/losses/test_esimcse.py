"""ESimCSE's queue against plain loops: what it holds, what it is compared with, what it remembers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from clusterns.encoder.load import load_base
from clusterns.encoder.training_modules import add_training_head
from clusterns.losses import part as part_module
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.esimcse import MomentumQueue
from clusterns.methods.esimcse import QueueSettings
from tests.helpers.vectors import LinearEncoder, N, Vectors, batches, features
from tests.losses.oracle import cosine

TAU, MOMENTUM, SIZE, RATE = 0.3, 0.8, 30, 0.05
SETTINGS = QueueSettings(queue_momentum=MOMENTUM)


def oracle() -> tuple[list[float], list[Tensor], list[Tensor]]:
    """Values, gradients and the queue after each step, of gradient descent."""
    weight, bias = (
        p.detach().clone().requires_grad_() for p in LinearEncoder().linear.parameters()
    )
    slow = [weight.detach().clone(), bias.detach().clone()]
    queue: list[Tensor] = []
    values, gradients, queues = [], [], []
    for anchors, positives in batches():
        a, p = (x.detach() @ weight.T + bias for x in (anchors, positives))
        total = torch.zeros((), dtype=torch.float64)
        for i in range(N):
            logits = [cosine(a[i], p[j]) / TAU for j in range(N)]
            logits += [cosine(a[i], negative) / TAU for negative in queue]
            total = total + torch.stack(logits).logsumexp(0) - logits[i]
        loss = total / N
        found = torch.autograd.grad(loss, [weight, bias])
        # The momentum encoder follows first, as in the released code.
        slow = [
            MOMENTUM * s + (1 - MOMENTUM) * f.detach()
            for s, f in zip(slow, (weight, bias), strict=True)
        ]
        queue += list(anchors.detach() @ slow[0].T + slow[1])
        queue = queue[-SIZE:]
        with torch.no_grad():
            weight -= RATE * found[0]
            bias -= RATE * found[1]
        values.append(loss.item())
        gradients.append(found[0])
        queues.append(torch.stack(queue))
    return values, gradients, queues


def make(**frame) -> tuple[LinearEncoder, MomentumQueue, ContrastiveLoss]:
    encoder = LinearEncoder()
    part = MomentumQueue(SETTINGS, encoder, SIZE)  # type: ignore[arg-type]
    return encoder, part, ContrastiveLoss(encoder, TAU, parts=[part], **frame).double()


def step(
    encoder: LinearEncoder, loss: ContrastiveLoss, pair: tuple[Tensor, Tensor]
) -> tuple[float, Tensor]:
    encoder.zero_grad()
    value = loss([features(view.detach()) for view in pair])
    value.backward()
    gradient = encoder.linear.weight.grad.clone()
    with torch.no_grad():
        for parameter in encoder.linear.parameters():
            parameter -= RATE * parameter.grad
    return value.item(), gradient


@pytest.mark.parametrize(
    "frame",
    [{}, {"mini_batch_size": 5}, {"mini_batch_size": 5, "gradient_cache": True}, "slices"],
    ids=str,
)
def test_values_gradients_and_queue_equal_the_oracle(
    frame: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    if frame == "slices":
        monkeypatch.setattr(part_module, "MAX_ELEMENTS", 100)
    encoder, part, loss = make(**(frame if isinstance(frame, dict) else {}))
    values, gradients, queues = oracle()
    for pair, value, gradient, queue in zip(batches(), values, gradients, queues, strict=True):
        ours, our_gradient = step(encoder, loss, pair)
        assert ours == pytest.approx(value, abs=1e-9)
        torch.testing.assert_close(our_gradient, gradient, atol=1e-9, rtol=1e-9)
        torch.testing.assert_close(part.queue(), queue, atol=1e-9, rtol=1e-9)
    assert part.length == SIZE < N * len(values)  # it was full, and the oldest went
    assert not any(part.encoder.training_seen)  # type: ignore[operator] # without dropout
    assert not any(p.requires_grad for p in part.encoder.parameters())
    assert loss.diagnostics()["queue_length"] == SIZE


def test_the_queue_is_embedded_through_the_model_s_own_head(tiny_bert: Path) -> None:
    model = load_base(str(tiny_bert), "cls")
    add_training_head(model)
    part = MomentumQueue(SETTINGS, model, SIZE)
    body, head = (next(model[i].parameters()) for i in (0, 2))
    slow_body, slow_head = (next(part.encoder[i].parameters()) for i in (0, 2))
    before = slow_body.clone()
    with torch.no_grad():
        body += 1
        head += 1
        part.observe(model, [model.preprocess(["A sentence."])], training=True)
    assert torch.equal(slow_head, head)
    torch.testing.assert_close(slow_body, MOMENTUM * before + (1 - MOMENTUM) * body)


def test_a_batch_never_meets_itself_and_the_first_has_no_queue() -> None:
    _, part, loss = make()
    pair = batches()[0]
    columns = [features(view.detach()) for view in pair]
    plain = ContrastiveLoss(LinearEncoder(), TAU)
    assert loss(columns).item() == plain(columns).item()
    assert part.length == N
    with torch.no_grad():
        loss(columns)
    assert part.length == N  # evaluation changes nothing


def test_a_batch_longer_than_the_queue_leaves_its_newest_rows() -> None:
    queue = MomentumQueue(SETTINGS, Vectors(2), 3)  # type: ignore[arg-type]
    queue.push(torch.arange(10.0).view(5, 2))
    assert queue.queue().tolist() == [[4.0, 5.0], [6.0, 7.0], [8.0, 9.0]]
    before = queue.queue()
    queue.push(torch.zeros(1, 2))
    assert before.tolist() == [[4.0, 5.0], [6.0, 7.0], [8.0, 9.0]]
    assert queue.queue().tolist() == [[6.0, 7.0], [8.0, 9.0], [0.0, 0.0]]
