"""ClusterNS: hard negatives and false negatives from in-batch clustering (Sec. 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import torch
import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from torch import Tensor

from clusterns.losses.batch import Batch, Rows
from clusterns.losses.centroids import Centroids, Neighbours, farthest_from_last
from clusterns.losses.choices import FalseNegatives, HardNegatives, Variant
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.distributed import broadcast, rank, total, world_size
from clusterns.losses.functional import (
    bidirectional_margin,
    cosine_matrix,
    info_nce,
    mean_in_batch_similarity,
)

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
        clusters: number of centroids (K), at most the rows of a batch.
        momentum: share of the new cluster mean in a centroid's update (gamma).
        sigma: clustering starts once the mean similarity of in-batch pairs is at or below this.
        start_step: start at this step (S) instead.
        hard_negatives: "second" nearest centroid, "nearest" (the paper's harder negatives), "none".
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
        **frame: settings of :class:`ContrastiveLoss`.
    """

    def __init__(
        self,
        model: SentenceTransformer,
        temperature: float = 0.05,
        *,
        clusters: int = 128,
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
        **frame: Any,
    ) -> None:
        super().__init__(model, temperature, **frame)
        for name, value, choices in (
            ("hard_negatives", hard_negatives, HardNegatives),
            ("false_negatives", false_negatives, FalseNegatives),
            ("variant", variant, Variant),
        ):
            if value not in get_args(choices):
                raise ValueError(f"{name} must be one of {get_args(choices)}, got {value!r}")
        if alpha > beta:
            raise ValueError(f"alpha ({alpha}) must not be above beta ({beta})")
        dimension = model.get_embedding_dimension()
        if dimension is None:
            raise ValueError("the model does not tell its embedding dimension")
        self.centroids = Centroids(clusters, dimension, momentum, add_sum=variant == "released")
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

    def compare(self, batch: Batch) -> Tensor:
        """Eq. 6 after the start of clustering, Eq. 1 before."""
        neighbours = self._cluster(batch)
        if neighbours is None:
            return super().compare(batch)
        hard, cluster = self._roles(neighbours)
        weights = self._hard_negative_weights(hard)

        def compare_rows(rows: Rows) -> tuple[Tensor, ...]:
            similarities = rows.similarities()
            same_cluster = cluster[rows.targets][:, None] == neighbours.nearest
            same_cluster = same_cluster.scatter(1, rows.targets[:, None], False)
            with_negatives = self.hard_negatives != "none"
            losses = info_nce(
                similarities,
                rows.targets,
                self.temperature,
                excluded=same_cluster if self.false_negatives == "mask" else None,
                extra_positives=same_cluster if self.false_negatives == "positives" else None,
                negatives=neighbours.similarities[rows.targets] if with_negatives else None,
                negative_weights=weights[rows.targets] if with_negatives else None,
            )
            if self.false_negatives != "margin":
                return (losses,)
            return losses, self._margins(rows, similarities, same_cluster), same_cluster.sum(1)

        losses, *margins = batch.by_rows(compare_rows)
        loss = losses.mean()
        self.parts["contrastive_loss"] = loss.detach()
        if margins:
            margin = self._mean_margin(*margins)
            self.parts["margin_loss"] = margin.detach()
            loss = loss + self.margin_weight * margin
        return loss

    def _cluster(self, batch: Batch) -> Neighbours | None:
        """One step of Alg. 1: None until clustering has started, and in the step that starts it."""
        centroids = self.centroids
        if torch.is_grad_enabled():
            centroids.step += 1
            if not centroids.started:
                if self._is_ready(batch):
                    centroids.start(broadcast(self._first_centroids(batch)))
                return None
            centroids.update(batch.all_anchors)
        return centroids.nearest(batch.all_anchors) if centroids.started else None

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

    def _roles(self, neighbours: Neighbours) -> tuple[Tensor, Tensor]:
        """The (N,) centroid that is each sample's hard negative, and the (N,) cluster that holds
        its false negatives."""
        nearest, second = neighbours.nearest, neighbours.second
        if self.random_clusters:
            # A function of seed and step: equal on every process and after a resume.
            generator = torch.Generator().manual_seed(hash((self.seed, self.centroids.step)))
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

    def _margins(self, rows: Rows, similarities: Tensor, same_cluster: Tensor) -> Tensor:
        """(n,) sums of the bidirectional margin loss over each row's (n, N) cells."""
        to_own_positive = similarities.gather(1, rows.targets[:, None])
        if self.variant == "released":
            delta = (similarities - to_own_positive).masked_fill(~same_cluster, 0.0)
            return bidirectional_margin(delta, self.alpha, self.beta).sum(1)
        delta = rows.anchor_similarities() - to_own_positive
        return (bidirectional_margin(delta, self.alpha, self.beta) * same_cluster).sum(1)

    def _mean_margin(self, sums: Tensor, pairs: Tensor) -> Tensor:
        """The mean over the false-negative pairs, (n,) sums and numbers; the released code's is
        over all cells. It is scaled so that the mean of the processes is the mean over all of
        theirs."""
        if self.variant == "released":
            return sums.mean() / (world_size() * len(sums))
        return sums.sum() * world_size() / total(pairs.sum()).clamp(min=1)

    @torch.no_grad()
    def diagnostics(self) -> dict[str, float]:
        """The paper's figures for the last batch (similarities and false-negative rate)."""
        values = super().diagnostics()
        if self._last is None or not self.centroids.started:
            return values
        anchors = self._last[0].to(self.centroids.vectors.dtype)
        neighbours = self.centroids.nearest(anchors)
        hard, _ = self._roles(neighbours)
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
            **values,
            "hard_negative_similarity": float(far.mean()),
            "nearest_centroid_similarity": float(near.mean()),
            "between_centroids_similarity": float((between.sum() - between.trace()) / (k * k - k)),
            **({"same_cluster_similarity": float(alike) / pairs} if pairs else {}),
            "false_negative_rate": float((sizes[neighbours.nearest] > 1).float().mean()),
            "clusters_with_members": float((sizes > 0).sum()),
        }

    def get_config_dict(self) -> dict[str, Any]:
        """Settings for the model card."""
        return {
            **super().get_config_dict(),
            "clusters": len(self.centroids),
            "momentum": self.centroids.momentum,
            "initialisation": "batch" if self.corpus_vectors is None else "corpus",
            **{name: getattr(self, name) for name in CARD_SETTINGS},
        }

    @property
    def citation(self) -> str:
        """BibTeX for the model card."""
        return """
@inproceedings{deng2023clusterns,
    title = "Clustering-Aware Negative Sampling for Unsupervised Sentence Representation",
    author = "Deng, Jinghao and Wan, Fanqi and Yang, Tao and Quan, Xiaojun and Wang, Rui",
    booktitle = "Findings of the ACL",
    year = "2023"
}
"""


def global_centroids(vectors: Tensor, clusters: int, seed: int) -> Tensor:
    """First centroids from the whole corpus: K-means by cosine, each the raw mean of its members.

    Args:
        vectors: (m, d) training vectors of the corpus, or of a sample of it.
        clusters: K.
        seed: of the K-means.
    """
    from sklearn.cluster import KMeans

    unit = F.normalize(vectors.float(), dim=-1).cpu().numpy()
    labels = KMeans(clusters, n_init=1, random_state=seed).fit_predict(unit)
    members = F.one_hot(torch.as_tensor(labels).long(), clusters).to(vectors)
    return (members.T @ vectors) / members.sum(0)[:, None].clamp(min=1)
