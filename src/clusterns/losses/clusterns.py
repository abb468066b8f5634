"""ClusterNS, top to bottom as Algorithm 1: hard and false negatives from in-batch clusters (Sec. 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args

import torch
import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from torch import Tensor

from clusterns.losses.choices import FalseNegatives, HardNegatives, Variant
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.distributed import broadcast, get_rank
from clusterns.losses.functional import (
    bidirectional_margin,
    cluster_sums,
    cosine_matrix,
    farthest_chain,
    global_centroids,
    mean_in_batch_similarity,
)
from clusterns.losses.masked_lm import MaskedLanguageModelling
from clusterns.losses.part import Batch, Part, Penalty, Rows, Terms, TermsOf, step_generator

CARD_SETTINGS = (
    "clusters",
    "momentum",
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
    """K centroids that follow the batches. A sample's second nearest centroid is its hard negative
    (Eq. 2); the other members of its cluster are its false negatives, which the bidirectional margin
    loss holds at a distance (Eq. 4-6).

    Inactive until the mean in-batch cosine reaches ``sigma``. The initialization step still uses
    plain InfoNCE.

    Args:
        dimension: width of the embeddings.
        clusters: number of centroids (K).
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
        random_clusters: random centroids and clusters instead of the near ones (ablation).
        variant: the "paper"'s formulas, or the arithmetic of the "released" code.
        seed: of the first centroid and of the random clusters.
        corpus_vectors: returns (m, d) training vectors of the corpus, whose K-means gives the first
            centroids (global initialization). None: they come from the batch.
    """

    centroids: Tensor
    """(K, d)."""
    counters = ("step", "started_at")
    citation = """
@inproceedings{deng2023clusterns,
    title = "Clustering-Aware Negative Sampling for Unsupervised Sentence Representation",
    author = "Deng, Jinghao and Wan, Fanqi and Yang, Tao and Quan, Xiaojun and Wang, Rui",
    booktitle = "Findings of the ACL",
    year = "2023"
}
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
        if clusters < 2:
            raise ValueError(f"clusters must be at least 2, got {clusters}")
        self.clusters = clusters
        self.momentum = momentum
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
        self.n_negatives = 0 if hard_negatives == "none" else clusters
        self.step = 0
        self.started_at: int | None = None
        self.register_buffer("centroids", torch.zeros(clusters, dimension))

    def terms(self, batch: Batch, training: bool) -> TermsOf | None:
        """One step of Algorithm 1: None until clustering has started, and in the step that starts it."""
        if training:
            self.step += 1
            if self.started_at is None:
                if self.is_ready(batch):
                    self.initialize(batch)  # lines 3-5
                return None
            self.update(batch.all_anchors.detach().to(self.centroids))  # line 7
        if self.started_at is None:
            return None
        similarities, nearest, second = self.neighbors(batch.all_anchors)
        hard, cluster = self.roles(nearest, second)
        weights = self.negative_weights(hard)

        def terms_of(rows: Rows) -> Terms:
            same_cluster = cluster[rows.index][:, None] == nearest
            same_cluster = same_cluster.scatter(1, rows.index[:, None], False)
            has_negatives = self.hard_negatives != "none"
            has_margin = self.false_negatives == "margin"
            return Terms(
                negatives=similarities[rows.index] if has_negatives else None,
                negative_weights=weights[rows.index] if has_negatives else None,
                mask=same_cluster if self.false_negatives == "mask" else None,
                extra_positives=same_cluster if self.false_negatives == "positives" else None,
                penalties=[self.margin(rows, same_cluster)] if has_margin else (),
            )

        return terms_of

    def is_ready(self, batch: Batch) -> bool:
        """Whether clustering starts in this step: by its number (S), or by the in-batch similarity."""
        if self.start_step is not None:
            return self.step >= self.start_step
        # One answer for all processes: the last digit may differ from machine to machine.
        return bool(broadcast(self.in_batch_similarity(batch.detached())) <= self.sigma)

    def in_batch_similarity(self, batch: Batch) -> Tensor:
        """The quantity that is compared with sigma (scalar)."""
        return mean_in_batch_similarity(batch.all_anchors, batch.all_positives)

    @torch.no_grad()
    def initialize(self, batch: Batch) -> None:
        """Set the first centroids, and start clustering with the next step."""
        self.start(broadcast(self.first_centroids(batch).to(self.centroids)))
        self.events.append(f"clustering starts, {len(self.centroids)} centroids")

    def start(self, centroids: Tensor) -> None:
        """Start clustering from these (K, d) centroids."""
        self.centroids.copy_(centroids)
        self.started_at = self.step

    def first_centroids(self, batch: Batch) -> Tensor:
        """(K, d): rows of the batch, each the least similar to the one before; or K-means over the corpus."""
        if self.corpus_vectors is None:
            similarities = self.initial_similarities(batch)
            generator = torch.Generator().manual_seed(self.seed)
            first = int(torch.randint(len(similarities), (1,), generator=generator))
            return batch.all_anchors[farthest_chain(similarities, len(self.centroids), first)]
        if get_rank() > 0:  # the first process embeds the corpus for all
            return torch.empty_like(self.centroids)
        vectors = self.corpus_vectors().to(self.centroids)
        return global_centroids(vectors, len(self.centroids), self.seed)

    def initial_similarities(self, batch: Batch) -> Tensor:
        """(N, N) similarities that decide which rows become the first centroids."""
        return cosine_matrix(batch.all_anchors, batch.all_anchors)

    @torch.no_grad()
    def update(self, anchors: Tensor) -> None:
        """Move each centroid towards the mean of its (raw) members; one without members stays (Eq. 7-8)."""
        labels = cosine_matrix(anchors, self.centroids).argmax(1)
        sums, counts = cluster_sums(anchors, labels, len(self.centroids))
        moved = self.centroids.lerp(self.target(sums, counts), self.momentum)
        self.centroids.copy_(torch.where(counts > 0, moved, self.centroids))

    def target(self, sums: Tensor, counts: Tensor) -> Tensor:
        """(K, d) points that the centroids move towards."""
        return sums / counts.clamp(min=1)

    def neighbors(self, anchors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Cosines with the centroids (N, K), and each sample's nearest and second nearest one (N,).

        The gradient flows to the samples only.
        """
        similarities = cosine_matrix(anchors.to(self.centroids.dtype), self.centroids)
        nearest, second = similarities.detach().topk(2, dim=1).indices.unbind(1)
        return similarities, nearest, second

    def roles(self, nearest: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """The (N,) centroid that is each sample's hard negative, and the (N,) cluster that holds
        its false negatives."""
        if self.random_clusters:
            # A function of seed and step: equal on every process and after a resume.
            generator = step_generator(self.seed, self.step)
            sample = torch.randint(len(self.centroids), (2, len(nearest)), generator=generator)
            hard, cluster = sample.to(nearest.device)
            return hard, cluster
        return (nearest if self.hard_negatives == "nearest" else second), nearest

    def negative_weights(self, hard: Tensor) -> Tensor:
        """(N, K) weight of each centroid in each denominator: mu times the number of samples whose
        hard negative it is."""
        counts = F.one_hot(hard, len(self.centroids)).to(self.centroids).sum(0)
        return (self.hard_negative_weight * counts).expand(len(hard), -1)

    def margin(self, rows: Rows, same_cluster: Tensor) -> Penalty:
        """The mean of the bidirectional margin loss over the false-negative pairs (Eq. 4-6)."""
        delta = rows.anchor_similarities() - rows.own_similarities
        cells = bidirectional_margin(delta, self.alpha, self.beta) * same_cluster
        return Penalty("margin_loss", cells.sum(1), same_cluster.sum(1), self.margin_weight)

    def diagnostics(self, batch: Batch) -> dict[str, Tensor | float]:
        """The paper's figures: similarities to and between centroids, false-negative rate."""
        if self.started_at is None:
            return {}
        anchors, k = batch.all_anchors.to(self.centroids), len(self.centroids)
        similarities, nearest, second = self.neighbors(anchors)
        hard, _ = self.roles(nearest, second)
        unit = F.normalize(anchors, dim=-1)
        sums, counts = cluster_sums(unit, nearest, k)
        sizes = counts.squeeze(1)
        pairs = float((sizes * (sizes - 1)).sum())
        # All cells of a cluster's cosine matrix sum to the square of its summed unit vectors.
        within = sums.square().sum() - unit.square().sum()
        between = cosine_matrix(self.centroids, self.centroids)
        return {
            "hard_negative_similarity": similarities.gather(1, hard[:, None]).mean(),
            "nearest_centroid_similarity": similarities.gather(1, nearest[:, None]).mean(),
            "between_centroids_similarity": (between.sum() - between.trace()) / (k * k - k),
            **({"same_cluster_similarity": within / pairs} if pairs else {}),
            "false_negative_rate": (sizes[nearest] > 1).float().mean(),
            "clusters_with_members": (sizes > 0).sum(),
        }

    def summary(self) -> dict[str, int | None]:
        """When clustering started."""
        return {"clustering_started_at": self.started_at}

    def warning(self) -> str | None:
        """Say that clustering never started."""
        if self.started_at is not None:
            return None
        if self.start_step is not None:
            return f"Clustering never started: the run ended before start_step = {self.start_step}."
        return (
            "Clustering never started: the in-batch similarity stayed above "
            f"sigma = {self.sigma}, so this run trained without it. Raise sigma or set start_step."
        )

    def config(self) -> dict[str, Any]:
        """Settings for the model card."""
        initialisation = "batch" if self.corpus_vectors is None else "corpus"
        settings = {name: getattr(self, name) for name in CARD_SETTINGS}
        return {"initialisation": initialisation, **settings}


class ReleasedClustering(Clustering):
    """The arithmetic of the released code, where it differs from the paper."""

    def in_batch_similarity(self, batch: Batch) -> Tensor:
        """The mean includes the positive pairs."""
        return mean_in_batch_similarity(batch.all_anchors, batch.all_positives, diagonal=True)

    def initial_similarities(self, batch: Batch) -> Tensor:
        """Anchors with positives."""
        return cosine_matrix(batch.all_anchors, batch.all_positives)

    def target(self, sums: Tensor, counts: Tensor) -> Tensor:
        """The sum of the members instead of their mean."""
        return sums

    def negative_weights(self, hard: Tensor) -> Tensor:
        """Mu is for the sample's own hard negative only."""
        chosen = F.one_hot(hard, len(self.centroids)).to(self.centroids)
        return chosen.sum(0) + (self.hard_negative_weight - 1) * chosen

    def margin(self, rows: Rows, same_cluster: Tensor) -> Penalty:
        """Anchors with positives, and the mean is over all cells."""
        delta = (rows.similarities - rows.own_similarities).masked_fill(~same_cluster, 0.0)
        cells = bidirectional_margin(delta, self.alpha, self.beta)
        counts = torch.full_like(rows.index, cells.shape[1])
        return Penalty("margin_loss", cells.sum(1), counts, self.margin_weight)


class StaleNegatives(Clustering):
    """A control without clustering: each sample's extra negative is a random, stale sentence vector.

    The K columns, their weights, the step in which they start and the momentum updates are those of
    :class:`Clustering`, but each vector moves towards one random anchor instead of a cluster's mean.
    """

    def first_centroids(self, batch: Batch) -> Tensor:
        """Random rows of the batch."""
        generator = torch.Generator().manual_seed(self.seed)
        rows = torch.randperm(len(batch.all_anchors), generator=generator)[: len(self.centroids)]
        return batch.all_anchors.detach()[rows]

    @torch.no_grad()
    def update(self, anchors: Tensor) -> None:
        """Move each vector towards a random anchor."""
        generator = step_generator(self.seed + 1, self.step)
        rows = torch.randint(len(anchors), (len(self.centroids),), generator=generator)
        self.centroids.lerp_(anchors[rows], self.momentum)

    def roles(self, nearest: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """A random vector for each sample."""
        generator = step_generator(self.seed, self.step)
        sample = torch.randint(len(self.centroids), nearest.shape, generator=generator)
        return sample.to(nearest.device), nearest


class ReleasedStaleNegatives(StaleNegatives, ReleasedClustering):
    """The control in the arithmetic of the released code."""


def make_clustering(dimension: int, **settings: Any) -> Clustering:
    """The part for some settings of :class:`Clustering`."""
    is_random = settings.get("hard_negatives") == "random"
    if settings.get("variant") == "released":
        return (ReleasedStaleNegatives if is_random else ReleasedClustering)(dimension, **settings)
    return (StaleNegatives if is_random else Clustering)(dimension, **settings)


class ClusterNSLoss(ContrastiveLoss):
    """Contrastive loss with clustering-aware negative sampling.

    Plain InfoNCE until the in-batch similarity has fallen to ``sigma``; from then on every sample's
    second nearest centroid is its hard negative (Eq. 2), and the other members of its cluster, the
    false negatives, are held by the bidirectional margin loss (Eq. 4-6).

    Inputs: one column of sentences (the positive is the same sentence under another dropout mask),
    or two columns (anchor, positive). No labels.

    Args:
        model: the model to train.
        temperature: tau.
        parts: other parts of the loss; a :class:`Clustering` among them is used as it is.
        views, auxiliary_columns, mini_batch_size, gradient_cache, masked_lm, masked_lm_weight: see
            :class:`ContrastiveLoss`.
        **clustering: the settings of :class:`Clustering`: clusters, momentum, sigma, start_step,
            hard_negatives, hard_negative_weight, false_negatives, margin_weight, alpha, beta,
            random_clusters, variant, seed, corpus_vectors.
    """

    def __init__(
        self,
        model: SentenceTransformer,
        temperature: float = 0.05,
        *,
        parts: Sequence[Part] = (),
        views: int = 2,
        auxiliary_columns: int = 0,
        mini_batch_size: int | None = None,
        gradient_cache: bool = False,
        masked_lm: MaskedLanguageModelling | None = None,
        masked_lm_weight: float = 0.1,
        **clustering: Any,
    ) -> None:
        if clustering or not any(isinstance(part, Clustering) for part in parts):
            dimension = model.get_embedding_dimension()
            if dimension is None:
                raise ValueError("the model does not report its embedding dimension")
            parts = (make_clustering(dimension, **clustering), *parts)
        super().__init__(
            model,
            temperature,
            parts=parts,
            views=views,
            auxiliary_columns=auxiliary_columns,
            mini_batch_size=mini_batch_size,
            gradient_cache=gradient_cache,
            masked_lm=masked_lm,
            masked_lm_weight=masked_lm_weight,
        )

    @property
    def clustering(self) -> Clustering:
        """The part that clusters."""
        return next(part for part in self.parts.values() if isinstance(part, Clustering))

    @property
    def centroids(self) -> Tensor:
        """(K, d) centroids."""
        return self.clustering.centroids
