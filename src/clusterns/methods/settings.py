"""Settings of the methods, with the paper's symbols."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from clusterns.losses.choices import FalseNegatives, HardNegatives, Variant
from clusterns.settings import Settings


class ContrastiveSettings(Settings):
    """What every contrastive method has."""

    temperature: float = Field(0.05, gt=0)
    """Temperature of the softmax (tau)."""
    masked_lm_weight: float = Field(0.0, ge=0)
    """Weight of the auxiliary masked-LM objective; 0 leaves it out (SimCSE's setting is 0.1)."""
    masked_lm_probability: float = Field(0.15, gt=0, lt=1)
    """Share of the tokens that the masked-LM objective masks."""
    mini_batch_size: int | None = Field(None, ge=1)
    """Rows that go through the encoder at once, sorted by length. Empty: 64 on a CPU, all on a GPU."""
    gradient_cache: bool = False
    """Keep the activations of one mini-batch only: large batches in little memory, a second forward pass."""


class ClusteringSettings(Settings):
    """What ClusterNS adds."""

    clusters: int = Field(128, ge=2)
    """Number of centroids (K), at most batch_size."""
    momentum: float = Field(1e-3, gt=0, le=1)
    """Share of the new cluster mean in a centroid's update (gamma)."""
    sigma: float = Field(0.4, ge=-1, le=1)
    """Clustering starts once the mean similarity of in-batch pairs is at or below this (sigma)."""
    start_step: int | None = Field(None, ge=1)
    """Start clustering at this step (S) instead of by sigma."""
    initialisation: Literal["batch", "corpus"] = "batch"
    """First centroids: chained farthest samples of the batch, or K-means over the corpus (global)."""
    initialisation_sample: int = Field(20_000, ge=100)
    """Sentences that the K-means of initialisation=corpus sees."""
    hard_negatives: HardNegatives = "second"
    """Each sample's hard negative: its second nearest centroid, the nearest (harder), or none."""
    hard_negative_weight: float = Field(1.0, ge=0)
    """Weight of the hard negatives in the denominator (mu)."""
    false_negatives: FalseNegatives = "margin"
    """Other members of a sample's cluster: held by the margin loss, masked out, used as positives, or none."""
    margin_weight: float = Field(1e-3, ge=0)
    """Weight of the bidirectional margin loss (lambda)."""
    alpha: float = Field(0.0, ge=0, le=2)
    """A false negative stays at least this far below the positive's similarity (alpha)."""
    beta: float = Field(0.3, ge=0, le=2)
    """And at most this far below it (beta)."""
    random_clusters: bool = False
    """Random centroids and clusters in the place of the near ones (ablation)."""
    variant: Variant = "paper"
    """The paper's formulas, or the arithmetic of the released code."""

    @model_validator(mode="after")
    def _margins_in_order(self) -> ClusteringSettings:
        if self.alpha > self.beta:
            raise ValueError(f"alpha = {self.alpha} must not be above beta = {self.beta}.")
        return self


class ClusterNSSettings(ContrastiveSettings, ClusteringSettings):
    """All settings of ClusterNS."""
