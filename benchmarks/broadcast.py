"""ClusterNS as one writes it down first, to compare with: one encoder call a view, every row padded
to the longest, and every cosine by broadcasting (N, 1, D) against (1, M, D)."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn


def cosines(a: Tensor, b: Tensor) -> Tensor:
    return F.cosine_similarity(a[:, None], b[None], dim=-1)


class BroadcastClusterNS(nn.Module):
    """Clustering under way from the first step, with the (K, d) ``centroids``."""

    def __init__(
        self,
        model: SentenceTransformer,
        centroids: Tensor,
        *,
        temperature: float = 0.05,
        momentum: float = 1e-3,
        margin_weight: float = 1e-3,
        alpha: float = 0.0,
        beta: float = 0.3,
    ) -> None:
        super().__init__()
        self.model, self.centroids = model, centroids.clone()
        self.temperature, self.momentum = temperature, momentum
        self.margin_weight, self.alpha, self.beta = margin_weight, alpha, beta

    def forward(self, features: dict[str, Any]) -> Tensor:
        anchors = self.model(dict(features))["sentence_embedding"]
        positives = self.model(dict(features))["sentence_embedding"]
        self.update(anchors.detach())
        nearest, second = cosines(anchors, self.centroids).topk(2).indices.T
        similarities = cosines(anchors, positives)
        hard = cosines(anchors, self.centroids[second])
        logits = torch.cat([similarities, hard], 1) / self.temperature
        loss = F.cross_entropy(logits, torch.arange(len(anchors)))
        same = (nearest[:, None] == nearest) & ~torch.eye(len(anchors), dtype=torch.bool)
        delta = (cosines(anchors, anchors) - similarities.diagonal()[:, None])[same]
        if len(delta) == 0:
            return loss
        margin = F.relu(delta + self.alpha) + F.relu(-delta - self.beta)
        return loss + self.margin_weight * margin.mean()

    @torch.no_grad()
    def update(self, anchors: Tensor) -> None:
        nearest = cosines(anchors, self.centroids).argmax(1)
        for cluster in range(len(self.centroids)):
            members = anchors[nearest == cluster]
            if len(members):
                self.centroids[cluster] += self.momentum * (
                    members.mean(0) - self.centroids[cluster]
                )
