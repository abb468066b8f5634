"""Losses: pure functions, the centroids, and the contrastive losses that compose them."""

from clusterns.losses.centroids import Centroids
from clusterns.losses.cluster_ns import ClusterNSLoss
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.masked_lm import MaskedLanguageModelling

__all__ = ["Centroids", "ClusterNSLoss", "ContrastiveLoss", "MaskedLanguageModelling"]
