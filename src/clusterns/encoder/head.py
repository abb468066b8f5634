"""The head that exists in training only (SimCSE's MLP): tanh(W h + b)."""

from __future__ import annotations

from typing import Any

from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense
from torch import Tensor

from clusterns.encoder.training_only import TrainingOnly


class TrainingHead(TrainingOnly, Dense):
    """A D x D tanh layer after the pooling."""

    def forward(self, features: dict[str, Tensor | Any]) -> dict[str, Tensor | Any]:
        """Apply the head while training; leave the embedding as it is otherwise."""
        return super().forward(features) if self.is_on else features


def add_training_head(model: SentenceTransformer) -> None:
    """Put a fresh head at the end of ``model``."""
    with model.truncate_embeddings(None):  # it is trained whole, and cut when it is used
        width = model.get_embedding_dimension()
    assert width is not None
    model.append(TrainingHead(width, width).to(model.device))
