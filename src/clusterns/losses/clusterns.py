"""ClusterNS, top to bottom as Algorithm 1: hard and false negatives from in-batch clusters (Sec. 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from torch import Tensor

from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.distributed import broadcast, get_rank
from clusterns.losses.functional import (
    bidirectional_margin,
    cluster_figures,
    cluster_sums,
    cosine_matrix,
    farthest_chain,
    global_centroids,
    mean_in_batch_similarity,
)
from clusterns.losses.part import Batch, Part, Penalty, Rows, Terms, TermsOf, step_generator
from clusterns.methods.clusterns import ClusteringSettings

CorpusVectors = Callable[[], Tensor]


class Clustering(Part):
    """K centroids that follow the batches. A sample's second nearest centroid is its hard negative; every
    denominator contains the hard negatives of all samples of the batch, possibly including the sample's own
    centroid (Eq. 2). The
    other members of a sample's cluster are its false negatives, which the bidirectional margin loss keeps at a
    distance (Eq. 4-6).

    Inactive until the mean in-batch cosine reaches ``sigma``. The initialization step still uses
    plain InfoNCE.

    Args:
        settings: the settings.
        dimension: width of the embeddings.
        seed: seed of the first centroid and of the random clusters.
        corpus_vectors: returns (m, d) training vectors of the corpus, for ``initialization="corpus"``.
    """

    settings: ClusteringSettings
    centroids: Tensor
    """(K, d)."""
    counters = ("step", "started_at")
    sigma_counts_positives: ClassVar[bool] = False
    """Whether the mean that is compared with sigma includes the positive pairs."""
    citation = "deng2023clusterns"

    def __init__(
        self, settings: ClusteringSettings, dimension: int, *, seed: int = 42,
        corpus_vectors: CorpusVectors | None = None,
    ) -> None:  # fmt: skip
        super().__init__(settings)
        if (settings.initialization == "corpus") != (corpus_vectors is not None):
            raise ValueError("initialization=corpus and corpus_vectors go together: set both")
        self.seed = seed
        self.corpus_vectors = corpus_vectors
        self.n_negatives = 0 if settings.hard_negatives == "none" else settings.clusters
        self.step = 0
        self.started_at: int | None = None
        self.register_buffer("centroids", torch.zeros(settings.clusters, dimension))

    def terms(self, batch: Batch, training: bool) -> TermsOf | None:
        """One step of Algorithm 1; returns None until the step after clustering has started."""
        s = self.settings
        if training:
            self.step += 1
            if self.started_at is None:
                if self.is_ready(batch):
                    self.initialize(batch)  # lines 3-5
                return None
            self.update(batch.all_anchors.detach().to(self.centroids))  # line 7
        if self.started_at is None:
            return None
        to_centroids, nearest, second = self.neighbors(batch.all_anchors)
        hard, cluster = self.choose_negatives(nearest, second)
        weights = self.negative_weights(hard)

        def terms_of(rows: Rows) -> Terms:
            same_cluster = cluster[rows.index][:, None] == nearest
            same_cluster = same_cluster.scatter(1, rows.index[:, None], False)
            is_hard, treated_as = s.hard_negatives != "none", s.false_negatives
            return Terms(
                negatives=to_centroids[rows.index] if is_hard else None,
                negative_weights=weights[rows.index] if is_hard else None,
                mask=same_cluster if treated_as == "mask" else None,
                extra_positives=same_cluster if treated_as == "positives" else None,
                penalties=[self.margin(rows, same_cluster)] if treated_as == "margin" else (),
            )

        return terms_of

    def is_ready(self, batch: Batch) -> bool:
        """Whether clustering starts in this step: by the step number (S), or by the in-batch similarity."""
        if self.settings.start_step is not None:
            return self.step >= self.settings.start_step
        # Broadcast, since the last digit may differ between machines.
        anchors, positives = (view.detach() for view in batch.all_views[:2])
        similarity = mean_in_batch_similarity(anchors, positives, self.sigma_counts_positives)
        return bool(broadcast(similarity) <= self.settings.sigma)

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
        """(K, d): rows of the batch, each the least similar one to its predecessor; or K-means over the corpus."""
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
        """(N, N) similarities for choosing the first centroids."""
        return cosine_matrix(batch.all_anchors, batch.all_anchors)

    @torch.no_grad()
    def update(self, anchors: Tensor) -> None:
        """Move each centroid towards the mean of its (raw) members; one without members is unchanged (Eq. 7-8)."""
        labels = cosine_matrix(anchors, self.centroids).argmax(1)
        sums, counts = cluster_sums(anchors, labels, len(self.centroids))
        moved = self.centroids.lerp(self.target(sums, counts), self.settings.momentum)
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

    def choose_negatives(self, nearest: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """Choose each sample's hard negative, a centroid (N,), and the cluster of its false negatives (N,)."""
        if self.settings.random_clusters:
            # A function of seed and step: equal on every process and after a resume.
            generator = step_generator(self.seed, self.step)
            sample = torch.randint(len(self.centroids), (2, len(nearest)), generator=generator)
            hard, cluster = sample.to(nearest.device)
            return hard, cluster
        return (nearest if self.settings.hard_negatives == "nearest" else second), nearest

    def negative_weights(self, hard: Tensor) -> Tensor:
        """(N, K) weight of each centroid in each denominator: mu times the number of samples whose
        hard negative it is."""
        counts = F.one_hot(hard, len(self.centroids)).to(self.centroids).sum(0)
        return (self.settings.hard_negative_weight * counts).expand(len(hard), -1)

    def margin(self, rows: Rows, same_cluster: Tensor) -> Penalty:
        """The mean of the bidirectional margin loss over the false-negative pairs (Eq. 4-6)."""
        s, delta = self.settings, rows.anchor_similarities() - rows.own_similarities
        cells = bidirectional_margin(delta, s.alpha, s.beta) * same_cluster
        return Penalty("margin_loss", cells.sum(1), same_cluster.sum(1), s.margin_weight)

    def diagnostics(self, batch: Batch) -> dict[str, Tensor | float]:
        """The paper's diagnostics: similarities to and between centroids, false-negative rate."""
        if self.started_at is None:
            return {}
        anchors = batch.all_anchors.to(self.centroids)
        _, nearest, second = self.neighbors(anchors)
        hard, _ = self.choose_negatives(nearest, second)
        return dict(cluster_figures(anchors, self.centroids, nearest, hard))

    def summary(self) -> dict[str, int | None]:
        """The step in which clustering started."""
        return {"clustering_started_at": self.started_at}

    def warning(self) -> str | None:
        """Warn if clustering never started."""
        s = self.settings
        if self.started_at is not None:
            return None
        if s.start_step is not None:
            return f"Clustering never started: the run ended before start_step = {s.start_step}."
        return (
            f"Clustering never started: the in-batch similarity stayed above sigma = {s.sigma}, so "
            "this run trained without it. Raise sigma or set start_step."
        )


class ReleasedClustering(Clustering):
    """The arithmetic of the released code, where it differs from the paper."""

    sigma_counts_positives = True

    def initial_similarities(self, batch: Batch) -> Tensor:
        """Similarities of anchors with positives."""
        return cosine_matrix(batch.all_anchors, batch.all_positives)

    def target(self, sums: Tensor, counts: Tensor) -> Tensor:
        """The sum of the members instead of their mean."""
        return sums

    def negative_weights(self, hard: Tensor) -> Tensor:
        """Mu applies to the sample's own hard negative only."""
        chosen = F.one_hot(hard, len(self.centroids)).to(self.centroids)
        return chosen.sum(0) + (self.settings.hard_negative_weight - 1) * chosen

    def margin(self, rows: Rows, same_cluster: Tensor) -> Penalty:
        """The margin loss of anchors with positives; its mean is over all cells."""
        s, delta = self.settings, rows.similarities - rows.own_similarities
        cells = bidirectional_margin(delta.masked_fill(~same_cluster, 0.0), s.alpha, s.beta)
        counts = torch.full_like(rows.index, cells.shape[1])
        return Penalty("margin_loss", cells.sum(1), counts, s.margin_weight)


class StaleNegatives(Clustering):
    """A control without clustering: each sample's extra negative is a random, stale sentence vector.

    The K columns, their weights, the starting step and the momentum updates are the same as in
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
        self.centroids.lerp_(anchors[rows], self.settings.momentum)

    def choose_negatives(self, nearest: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """Choose a random vector as each sample's hard negative."""
        generator = step_generator(self.seed, self.step)
        sample = torch.randint(len(self.centroids), nearest.shape, generator=generator)
        return sample.to(nearest.device), nearest


class ReleasedStaleNegatives(StaleNegatives, ReleasedClustering):
    """The control in the arithmetic of the released code."""


def make_clustering(settings: ClusteringSettings, dimension: int, **options: Any) -> Clustering:
    """The part for these settings: the paper's, the released code's, or the control."""
    kinds: dict[tuple[str, bool], type[Clustering]] = {
        ("paper", False): Clustering,
        ("paper", True): StaleNegatives,
        ("released", False): ReleasedClustering,
        ("released", True): ReleasedStaleNegatives,
    }
    kind = kinds[settings.variant, settings.hard_negatives == "random"]
    return kind(settings, dimension, **options)


class ClusterNSLoss(ContrastiveLoss):
    """Contrastive loss with clustering-aware negative sampling (see :class:`Clustering`).

    Inputs: one column of sentences (the positive is the same sentence under another dropout mask),
    or two columns (anchor, positive). No labels.

    Args:
        model: the model to train.
        temperature: tau.
        parts: further parts of the loss.
        seed: seed of the first centroid.
        corpus_vectors: returns (m, d) training vectors of the corpus; K-means over them gives the
            first centroids. None: they come from the batch.
        **options: settings of :class:`ClusteringSettings` (clusters, momentum, sigma, ...), and
            other arguments of :class:`ContrastiveLoss`.
    """

    def __init__(
        self, model: SentenceTransformer, temperature: float = 0.05, *, parts: Sequence[Part] = (),
        seed: int = 42, corpus_vectors: CorpusVectors | None = None, **options: Any,
    ) -> None:  # fmt: skip
        dimension = model.get_embedding_dimension()
        if dimension is None:
            raise ValueError("the model does not report its embedding dimension")
        own = {key: options.pop(key) for key in ClusteringSettings.model_fields if key in options}
        if corpus_vectors is not None:
            own["initialization"] = "corpus"
        settings = ClusteringSettings(**own)
        part = make_clustering(settings, dimension, seed=seed, corpus_vectors=corpus_vectors)
        super().__init__(model, temperature, parts=(part, *parts), **options)

    @property
    def clustering(self) -> Clustering:
        """The part that clusters."""
        return next(part for part in self.parts.values() if isinstance(part, Clustering))

    @property
    def centroids(self) -> Tensor:
        """(K, d) centroids."""
        return self.clustering.centroids
