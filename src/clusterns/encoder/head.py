"""The head that exists in training only (SimCSE's MLP): tanh(W h + b)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense
from torch import Tensor

from clusterns.encoder.denoising import Denoising


class TrainingHead(Dense):
    """A D x D tanh layer after the pooling: the identity in eval mode, taken off at the end.

    It is a module of the model, not of the loss, so that the trainer wraps, clips and checkpoints
    its weights like all others.
    """

    always_on = False

    def forward(self, features: dict[str, Tensor | Any]) -> dict[str, Tensor | Any]:
        """Apply the head while training; leave the embedding as it is otherwise."""
        return super().forward(features) if self.training or self.always_on else features


def add_training_head(model: SentenceTransformer) -> None:
    """Put a fresh head at the end of ``model``."""
    with model.truncate_embeddings(None):  # it is trained whole, and cut when it is used
        width = model.get_embedding_dimension()
    assert width is not None
    model.append(TrainingHead(width, width).to(model.device))


@contextmanager
def heads_on(model: SentenceTransformer) -> Iterator[None]:
    """Within the block, ``model.encode`` gives training vectors (after the head), no dropout."""
    heads = [module for module in model if isinstance(module, TrainingHead | Denoising)]
    for head in heads:
        head.always_on = True
    try:
        yield
    finally:
        for head in heads:
            head.always_on = False
