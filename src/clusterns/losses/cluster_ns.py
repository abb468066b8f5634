"""ClusterNS as a loss of its own, for any training script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sentence_transformers import SentenceTransformer

from clusterns.losses.centroids import Centroids, global_centroids
from clusterns.losses.clustering import Clustering, make_clustering
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.masked_lm import MaskedLanguageModelling
from clusterns.losses.part import Part

__all__ = ["ClusterNSLoss", "global_centroids"]


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
        parts: what else the loss consists of; a :class:`Clustering` among them is taken as it is.
        views, aside, mini_batch_size, gradient_cache, masked_lm, masked_lm_weight: as of
            :class:`ContrastiveLoss`.
        **clustering: the settings of :class:`Clustering`: clusters, momentum, sigma, start_step,
            hard_negatives, hard_negative_weight, false_negatives, margin_weight, alpha, beta,
            random_clusters, variant, seed, corpus_vectors.
    """

    centroids: Centroids

    def __init__(
        self,
        model: SentenceTransformer,
        temperature: float = 0.05,
        *,
        parts: Sequence[Part] = (),
        views: int = 2,
        aside: int = 0,
        mini_batch_size: int | None = None,
        gradient_cache: bool = False,
        masked_lm: MaskedLanguageModelling | None = None,
        masked_lm_weight: float = 0.1,
        **clustering: Any,
    ) -> None:
        if clustering or not any(isinstance(part, Clustering) for part in parts):
            dimension = model.get_embedding_dimension()
            if dimension is None:
                raise ValueError("the model does not tell its embedding dimension")
            parts = (make_clustering(dimension, **clustering), *parts)
        super().__init__(
            model,
            temperature,
            parts=parts,
            views=views,
            aside=aside,
            mini_batch_size=mini_batch_size,
            gradient_cache=gradient_cache,
            masked_lm=masked_lm,
            masked_lm_weight=masked_lm_weight,
        )
