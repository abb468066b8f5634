"""The paper, slow and obvious: plain loops over plain numbers (0-dim tensors, for gradients)."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def cosine(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum() / ((a * a).sum().sqrt() * (b * b).sum().sqrt())


class Oracle:
    """Algorithm 1, one batch after the other, with every ablation and both variants."""

    def __init__(self, *, first: int, temperature: float = 0.05, clusters: int = 4, **settings):
        self.first = first
        self.temperature = temperature
        self.clusters = clusters
        self.gamma = settings.get("momentum", 1e-3)
        self.sigma = settings.get("sigma", 0.4)
        self.start_step = settings.get("start_step")
        self.hard = settings.get("hard_negatives", "second")
        self.mu = settings.get("hard_negative_weight", 1.0)
        self.false = settings.get("false_negatives", "margin")
        self.lam = settings.get("margin_weight", 1e-3)
        self.alpha = settings.get("alpha", 0.0)
        self.beta = settings.get("beta", 0.3)
        self.released = settings.get("variant", "paper") == "released"
        self.random_seed = settings.get("random_seed")
        self.step = 0
        self.centroids: list[Tensor] | None = None
        self.started_at: int | None = None

    def __call__(self, anchors: Tensor, positives: Tensor) -> Tensor:
        n = len(anchors)
        self.step += 1
        hard_negatives: list[Tensor] = []
        members: list[list[int]] = [[] for _ in range(n)]
        if self.centroids is not None:
            self.follow_random(anchors.detach()) if self.hard == "random" else self.update(
                anchors.detach()
            )
            ranked = [self.ranking(anchors[i].detach()) for i in range(n)]
            place = {"second": 1, "nearest": 0}.get(self.hard)
            if place is not None:
                hard_negatives = [self.centroids[r[place]] for r in ranked]
            if self.hard == "random":
                generator = torch.Generator().manual_seed(self.random_seed * 2**32 + self.step)
                rows = torch.randint(self.clusters, (n,), generator=generator).tolist()
                hard_negatives = [self.centroids[k] for k in rows]
            wanted = [r[0] for r in ranked]
            if self.random_seed is not None and self.hard != "random":
                drawn = self.draws(n)
                hard_negatives = [self.centroids[k] for k in drawn[0]]
                wanted = drawn[1]
            members = [
                [j for j in range(n) if j != i and ranked[j][0] == wanted[i]] for i in range(n)
            ]
        elif self.ready(anchors.detach(), positives.detach()):
            self.start(anchors.detach(), positives.detach())

        losses = []
        for i in range(n):
            logits = [cosine(anchors[i], positives[j]) / self.temperature for j in range(n)]
            left_out = members[i] if self.false == "mask" else []
            denominator = sum(logits[j].exp() for j in range(n) if j not in left_out)
            for j, negative in enumerate(hard_negatives):
                weight = self.mu if not self.released or j == i else 1.0
                denominator = (
                    denominator + weight * (cosine(anchors[i], negative) / self.temperature).exp()
                )
            numerators = [i, *members[i]] if self.false == "positives" else [i]
            losses.append(sum(denominator.log() - logits[j] for j in numerators) / len(numerators))
        total = sum(losses) / n
        if self.centroids is not None and self.step != self.started_at and self.false == "margin":
            total = total + self.lam * self.margin(anchors, positives, members)
        return total

    def draws(self, n: int) -> list[list[int]]:
        """The random centroid and the random cluster of each sample, by seed and step."""
        generator = torch.Generator().manual_seed(self.random_seed * 2**32 + self.step)
        return torch.randint(self.clusters, (2, n), generator=generator).tolist()

    def follow_random(self, anchors: Tensor) -> None:
        """Each stale vector moves towards one random sentence of the batch."""
        generator = torch.Generator().manual_seed((self.random_seed + 1) * 2**32 + self.step)
        rows = torch.randint(len(anchors), (self.clusters,), generator=generator).tolist()
        self.centroids = [
            (1 - self.gamma) * c + self.gamma * anchors[row]
            for c, row in zip(self.centroids, rows, strict=True)
        ]

    def margin(self, anchors: Tensor, positives: Tensor, members: list[list[int]]) -> Tensor:
        n = len(anchors)
        others = positives if self.released else anchors
        cells = []
        for i in range(n):
            for j in members[i]:
                delta = cosine(anchors[i], others[j]) - cosine(anchors[i], positives[i])
                cells.append((delta + self.alpha).clamp(min=0) + (-delta - self.beta).clamp(min=0))
        if self.released:
            constant = max(self.alpha, 0.0) * (n * n - len(cells))
            return (sum(cells) + constant) / (n * n)
        return sum(cells) / len(cells) if cells else torch.zeros((), dtype=anchors.dtype)

    def ready(self, anchors: Tensor, positives: Tensor) -> bool:
        if self.start_step is not None:
            return self.step >= self.start_step
        cells = [
            cosine(anchors[i], positives[j]).item()
            for i in range(len(anchors))
            for j in range(len(anchors))
            if i != j or self.released
        ]
        return math.fsum(cells) / len(cells) <= self.sigma

    def start(self, anchors: Tensor, positives: Tensor) -> None:
        others = positives if self.released else anchors
        if self.hard == "random":
            order = torch.randperm(
                len(anchors), generator=torch.Generator().manual_seed(self.random_seed)
            )
            self.centroids = [anchors[i].clone() for i in order[: self.clusters].tolist()]
            self.started_at = self.step
            return
        chosen = [self.first]
        while len(chosen) < self.clusters:
            free = [j for j in range(len(anchors)) if j not in chosen]
            chosen.append(min(free, key=lambda j: cosine(anchors[chosen[-1]], others[j]).item()))
        self.centroids = [anchors[i].clone() for i in chosen]
        self.started_at = self.step

    def ranking(self, sample: Tensor) -> list[int]:
        similarities = [cosine(sample, c).item() for c in self.centroids]
        return sorted(range(self.clusters), key=lambda k: -similarities[k])

    def update(self, anchors: Tensor) -> None:
        clusters = [self.ranking(a)[0] for a in anchors]
        for k in range(self.clusters):
            mine = [a for a, cluster in zip(anchors, clusters, strict=True) if cluster == k]
            if mine:
                target = sum(mine) if self.released else sum(mine) / len(mine)
                self.centroids[k] = (1 - self.gamma) * self.centroids[k] + self.gamma * target
