"""Batches of vectors for losses, without an encoder in front."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

N, D, STEPS = 12, 5, 6
# Every way to cluster, for the slow oracle.
SETTINGS = {
    "paper": {},
    "released": {"variant": "released", "alpha": 0.1},
    "by step": {"start_step": 3},
    "no hard negatives": {"hard_negatives": "none"},
    "no false negatives": {"false_negatives": "none"},
    "nearest centroid": {"hard_negatives": "nearest"},
    "random clusters": {"random_clusters": True, "margin_weight": 2.0},
    "stale sentences": {"hard_negatives": "random", "false_negatives": "none"},
    "masked": {"false_negatives": "mask"},
    "as positives": {"false_negatives": "positives"},
    "weighted": {"hard_negative_weight": 2.5},
    "weighted, released": {"hard_negative_weight": 2.5, "variant": "released"},
    "unweighted": {"hard_negative_weight": 0.0},
    "strong margin": {"margin_weight": 5.0, "alpha": 0.05, "beta": 0.1},
    "strong margin, released": {
        "margin_weight": 5.0, "alpha": 0.05, "beta": 0.1, "variant": "released",
    },
}  # fmt: skip


class Vectors(nn.Module):
    """A model whose embeddings are its inputs."""

    def __init__(self, dimension: int = D) -> None:
        super().__init__()
        self.dimension = dimension

    def get_embedding_dimension(self) -> int:
        return self.dimension

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"sentence_embedding": features["vectors"]}


class LinearEncoder(Vectors):
    """A linear encoder that notes whether it was in training mode."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(D, D, dtype=torch.float64)
        self.training_seen: list[bool] = []

    def __iter__(self) -> Iterator[nn.Module]:
        return iter(())

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        self.training_seen.append(self.training)
        return {"sentence_embedding": self.linear(features["vectors"])}


def features(vectors: Tensor) -> dict[str, Tensor]:
    return {
        "vectors": vectors,
        "input_ids": torch.ones(len(vectors), 3, dtype=torch.long),
        "attention_mask": torch.ones(len(vectors), 3, dtype=torch.long),
    }


def batches(seed: int = 0, n: int = N, d: int = D) -> list[tuple[Tensor, Tensor]]:
    """Pairs that are alike, in a few groups, so that clusters have members."""
    generator = torch.Generator().manual_seed(seed)
    groups = torch.randn(4, d, generator=generator, dtype=torch.float64)
    result = []
    for _ in range(STEPS):
        which = torch.randint(4, (n,), generator=generator)
        anchors = groups[which] + 0.5 * torch.randn(n, d, generator=generator, dtype=torch.float64)
        positives = anchors + 0.3 * torch.randn(n, d, generator=generator, dtype=torch.float64)
        result.append((anchors.requires_grad_(), positives.requires_grad_()))
    return result


def correlated(count: int, dimension: int, seed: int = 0) -> Tensor:
    """(n, d) vectors with correlated dimensions and a mean far from 0."""
    generator = torch.Generator().manual_seed(seed)
    mixed = torch.randn(dimension, dimension, generator=generator, dtype=torch.float64)
    vectors = torch.randn(count, dimension, generator=generator, dtype=torch.float64) @ mixed
    return vectors + 100
