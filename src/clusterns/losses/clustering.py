"""Clustering: hard negatives and false negatives from in-batch clusters (Sec. 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from clusterns.losses.batch import Batch, Rows
from clusterns.losses.centroids import (
    Centroids,
    Neighbours,
    farthest_from_last,
    global_centroids,
)
from clusterns.losses.choices import FalseNegatives, HardNegatives, Variant
from clusterns.losses.distributed import broadcast, rank
from clusterns.losses.functional import (
    bidirectional_margin,
    cosine_matrix,
    mean_in_batch_similarity,
)
from clusterns.losses.part import Part, Penalty, Terms, TermsOf, step_generator

CARD_SETTINGS = (
    "sigma",
    "start_step",
    "hard_negatives",
    "hard_negative_weight",
    "false_negatives",
    "margin_weight",
    "alpha",
    "beta",
    "random_clusters",
    "variant",
)


class Clustering(Part):
    """K centroids that follow the batches: a sample's second nearest one is its hard negative (Eq.
    2), and the other members of its cluster, its false negatives, are held by the bidirectional
    margin loss (Eq. 4-6).

    Silent until the in-batch similarity has fallen to ``sigma``, and in the step in which it has.

    Args:
        dimension: width of the embeddings.
        clusters: number of centroids (K), at most the rows of a batch that they start from.
        momentum: share of the new cluster mean in a centroid's update (gamma).
        sigma: clustering starts once the mean similarity of in-batch pairs is at or below this.
        start_step: start at this step (S) instead.
        hard_negatives: "second" nearest centroid, "nearest" (the paper's harder negatives), "none";
            "random" is a control, see :class:`StaleNegatives`.
        hard_negative_weight: weight of the hard negatives in the denominator (mu).
        false_negatives: held by the "margin" loss, left out of the denominator ("mask"), used as
            "positives", or left alone ("none").
        margin_weight: weight of the bidirectional margin loss (lambda).
        alpha: the similarity of a false negative stays at least this far below the positive's.
        beta: and at most this far below it.
        random_clusters: random centroids and clusters in the place of the near ones (ablation).
        variant: the "paper"'s formulas, or the arithmetic of the "released" code.
        seed: of the first centroid and of the random clusters.
        corpus_vectors: a function that gives (m, d) training vectors of the corpus; K-means over
            them gives the first centroids (global initialisation). None: from the batch.
    """

    def __init__(
        self,
        dimension: int,
        *,
        clusters: int = 32,
        momentum: float = 1e-3,
        sigma: float = 0.4,
        start_step: int | None = None,
        hard_negatives: HardNegatives = "second",
        hard_negative_weight: float = 1.0,
        false_negatives: FalseNegatives = "margin",
        margin_weight: float = 1e-3,
        alpha: float = 0.0,
        beta: float = 0.3,
        random_clusters: bool = False,
        variant: Variant = "paper",
        seed: int = 42,
        corpus_vectors: Callable[[], Tensor] | None = None,
    ) -> None:
        super().__init__()
        for name, value, choices in (
            ("hard_negatives", hard_negatives, HardNegatives),
            ("false_negatives", false_negatives, FalseNegatives),
            ("variant", variant, Variant),
        ):
            if value not in get_args(choices):
                raise ValueError(f"{name} must be one of {get_args(choices)}, got {value!r}")
        if alpha > beta:
            raise ValueError(f"alpha ({alpha}) must not be above beta ({beta})")
        self.centroids = Centroids(clusters, dimension, momentum, add_sum=variant == "released")
        self.state = {"centroids": self.centroids}
        self.columns = 0 if hard_negatives == "none" else clusters
        self.sigma = sigma
        self.start_step = start_step
        self.hard_negatives = hard_negatives
        self.hard_negative_weight = hard_negative_weight
        self.false_negatives = false_negatives
        self.margin_weight = margin_weight
        self.alpha = alpha
        self.beta = beta
        self.random_clusters = random_clusters
        self.variant = variant
        self.seed = seed
        self.corpus_vectors = corpus_vectors

    def follow(self, batch: Batch, learn: bool) -> TermsOf | None:
        """One step of Alg. 1: None until clustering has started, and in the step that starts it."""
        centroids = self.centroids
        if learn:
            centroids.step += 1
            if not centroids.started:
                if self._is_ready(batch):
                    centroids.start(broadcast(self._first_centroids(batch)))
                    self.events.append(f"clustering starts, {len(centroids)} centroids")
                return None
            self._update(batch.all_anchors)
        if not centroids.started:
            return None
        neighbours = centroids.nearest(batch.all_anchors)
        hard, cluster = self.roles(neighbours)
        weights = self._hard_negative_weights(hard)

        def terms(rows: Rows) -> Terms:
            same_cluster = cluster[rows.targets][:, None] == neighbours.nearest
            same_cluster = same_cluster.scatter(1, rows.targets[:, None], False)
            with_negatives = self.hard_negatives != "none"
            return Terms(
                negatives=neighbours.similarities[rows.targets] if with_negatives else None,
                negative_weights=weights[rows.targets] if with_negatives else None,
                excluded=same_cluster if self.false_negatives == "mask" else None,
                extra_positives=same_cluster if self.false_negatives == "positives" else None,
                penalties=self._margins(rows, same_cluster),
            )

        return terms

    def _is_ready(self, batch: Batch) -> bool:
        if self.start_step is not None:
            return self.centroids.step >= self.start_step
        mean = mean_in_batch_similarity(
            batch.all_anchors.detach(), batch.all_positives.detach(), self.variant == "released"
        )
        # One answer for all: the last digit may differ from machine to machine.
        return bool(broadcast(mean) <= self.sigma)

    @torch.no_grad()
    def _first_centroids(self, batch: Batch) -> Tensor:
        if self.corpus_vectors is not None:
            if rank() > 0:  # the first process embeds the corpus for all
                return torch.empty_like(self.centroids.vectors)
            vectors = self.corpus_vectors().to(self.centroids.vectors)
            return global_centroids(vectors, len(self.centroids), self.seed)
        others = batch.all_positives if self.variant == "released" else batch.all_anchors
        similarities = cosine_matrix(batch.all_anchors, others)
        generator = torch.Generator().manual_seed(self.seed)
        first = int(torch.randint(len(similarities), (1,), generator=generator))
        rows = farthest_from_last(similarities, len(self.centroids), first)
        return batch.all_anchors[rows].to(self.centroids.vectors.dtype)

    def _update(self, anchors: Tensor) -> None:
        self.centroids.update(anchors)

    def roles(self, neighbours: Neighbours) -> tuple[Tensor, Tensor]:
        """The (N,) centroid that is each sample's hard negative, and the (N,) cluster that holds
        its false negatives."""
        nearest, second = neighbours.nearest, neighbours.second
        if self.random_clusters:
            # A function of seed and step: equal on every process and after a resume.
            generator = step_generator(self.seed, self.centroids.step)
            drawn = torch.randint(len(self.centroids), (2, len(nearest)), generator=generator)
            hard, cluster = drawn.to(nearest.device)
            return hard, cluster
        return (nearest if self.hard_negatives == "nearest" else second), nearest

    def _hard_negative_weights(self, hard: Tensor) -> Tensor:
        """(N, K) weight of each centroid in each denominator: mu, as many times as samples bring
        the centroid along; in the released code, mu is for the sample's own one."""
        chosen = F.one_hot(hard, len(self.centroids)).to(self.centroids.vectors.dtype)
        counts = chosen.sum(0)
        if self.variant == "released":
            return counts + (self.hard_negative_weight - 1) * chosen
        return (self.hard_negative_weight * counts).expand(len(hard), -1)

    def _margins(self, rows: Rows, same_cluster: Tensor) -> list[Penalty]:
        """The bidirectional margin loss over each row's (n, N) cells: its mean is over the
        false-negative pairs, the released code's over all cells."""
        if self.false_negatives != "margin":
            return []
        if self.variant == "released":
            delta = (rows.similarities - rows.own_similarities).masked_fill(~same_cluster, 0.0)
            cells = bidirectional_margin(delta, self.alpha, self.beta)
            counts = torch.full_like(rows.targets, cells.shape[1])
        else:
            delta = rows.anchor_similarities() - rows.own_similarities
            cells = bidirectional_margin(delta, self.alpha, self.beta) * same_cluster
            counts = same_cluster.sum(1)
        return [Penalty("margin_loss", cells.sum(1), counts, self.margin_weight)]

    def diagnostics(self, batch: Batch) -> dict[str, Tensor | float]:
        """The paper's figures: similarities to and between centroids, false-negative rate."""
        if not self.centroids.started:
            return {}
        anchors = batch.all_anchors.to(self.centroids.vectors.dtype)
        neighbours = self.centroids.nearest(anchors)
        hard, _ = self.roles(neighbours)
        near, far = (
            neighbours.similarities.gather(1, i[:, None]) for i in (neighbours.nearest, hard)
        )
        members = F.one_hot(neighbours.nearest, len(self.centroids)).to(anchors.dtype)
        sizes = members.sum(0)
        pairs = float((sizes * (sizes - 1)).sum())
        # All cells of a cluster's cosine matrix sum to the square of its summed unit vectors.
        unit = F.normalize(anchors, dim=-1)
        alike = (members.T @ unit).square().sum() - unit.square().sum()
        between = cosine_matrix(self.centroids.vectors, self.centroids.vectors)
        k = len(between)
        return {
            "hard_negative_similarity": far.mean(),
            "nearest_centroid_similarity": near.mean(),
            "between_centroids_similarity": (between.sum() - between.trace()) / (k * k - k),
            **({"same_cluster_similarity": alike / pairs} if pairs else {}),
            "false_negative_rate": (sizes[neighbours.nearest] > 1).float().mean(),
            "clusters_with_members": (sizes > 0).sum(),
        }

    def facts(self) -> dict[str, int | None]:
        """When clustering started."""
        return {"clustering_started_at": self.centroids.started_at}

    def last_words(self) -> str | None:
        """Say that clustering never started."""
        if self.centroids.started:
            return None
        if self.start_step is not None:
            return f"Clustering never started: the run ended before start_step = {self.start_step}."
        return (
            "Clustering never started: the in-batch similarity stayed above "
            f"sigma = {self.sigma}, so this run trained without it. Raise sigma or set start_step."
        )

    def config(self) -> dict[str, Any]:
        """Settings for the model card."""
        return {
            "clusters": len(self.centroids),
            "momentum": self.centroids.momentum,
            "initialisation": "batch" if self.corpus_vectors is None else "corpus",
            **{name: getattr(self, name) for name in CARD_SETTINGS},
        }

    citation = """
@inproceedings{deng2023clusterns,
    title = "Clustering-Aware Negative Sampling for Unsupervised Sentence Representation",
    author = "Deng, Jinghao and Wan, Fanqi and Yang, Tao and Quan, Xiaojun and Wang, Rui",
    booktitle = "Findings of the ACL",
    year = "2023"
}
"""


class StaleNegatives(Clustering):
    """A control without clustering: each sample's extra negative is a random, stale sentence vector.

    All else is as for the hard negatives of :class:`Clustering`: K columns, their weights, the step in which they
    start, and momentum updates - but of each vector towards one random anchor instead of a cluster's mean.
    """

    def _first_centroids(self, batch: Batch) -> Tensor:
        generator = torch.Generator().manual_seed(self.seed)
        rows = torch.randperm(len(batch.all_anchors), generator=generator)[: len(self.centroids)]
        return batch.all_anchors.detach()[rows].to(self.centroids.vectors.dtype)

    @torch.no_grad()
    def _update(self, anchors: Tensor) -> None:
        vectors = self.centroids.vectors
        generator = step_generator(self.seed + 1, self.centroids.step)
        rows = torch.randint(len(anchors), (len(vectors),), generator=generator)
        vectors.lerp_(anchors.detach()[rows].to(vectors), self.centroids.momentum)

    def roles(self, neighbours: Neighbours) -> tuple[Tensor, Tensor]:
        """A random one of the vectors for each sample."""
        generator = step_generator(self.seed, self.centroids.step)
        drawn = torch.randint(len(self.centroids), neighbours.nearest.shape, generator=generator)
        return drawn.to(neighbours.nearest.device), neighbours.nearest


def make_clustering(dimension: int, **settings: Any) -> Clustering:
    """The part for some settings of :class:`Clustering`."""
    kind = StaleNegatives if settings.get("hard_negatives") == "random" else Clustering
    return kind(dimension, **settings)
