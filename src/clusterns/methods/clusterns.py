"""ClusterNS: centroids as hard negatives, and the members of a sample's cluster as false ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from clusterns.data.split import evenly_spaced, select_texts
from clusterns.errors import UserError
from clusterns.methods.method import Context, Method
from clusterns.methods.recipe import PartSettings, Recipe
from clusterns.methods.registry import method, part

if TYPE_CHECKING:
    from torch import Tensor

    from clusterns.losses.clusterns import Clustering


@part("clustering")
class ClusteringSettings(PartSettings):
    """Centroids as hard negatives, clusters as false negatives (ClusterNS)."""

    clusters: int = Field(32, ge=2)
    """Number of centroids (K); at most batch_size with initialization=batch."""
    momentum: float = Field(1e-3, gt=0, le=1)
    """Share of the new cluster mean in a centroid's update (gamma)."""
    sigma: float = Field(0.4, ge=-1, le=1)
    """Start clustering once the mean similarity of in-batch pairs is at or below this (sigma)."""
    start_step: int | None = Field(None, ge=1)
    """Start clustering at this step (S) instead of by sigma."""
    initialization: Literal["batch", "corpus"] = "batch"
    """First centroids: chained farthest samples of the batch, or K-means on unit vectors of the corpus (global)."""
    initialization_sample: int = Field(20_000, ge=100)
    """Sentences for the K-means of initialization=corpus, evenly spaced over the corpus."""
    hard_negatives: Literal["second", "nearest", "random", "none"] = "second"
    """Each sample's hard negative: its second nearest centroid, the nearest (harder), a random old sentence, none."""
    hard_negative_weight: float = Field(1.0, ge=0)
    """Weight of the hard negatives in the denominator (mu)."""
    false_negatives: Literal["margin", "mask", "positives", "none"] = "margin"
    """Other members of a sample's cluster: margin loss, masked out, used as positives, or none."""
    margin_weight: float = Field(1e-3, ge=0)
    """Weight of the bidirectional margin loss (lambda)."""
    alpha: float = Field(0.0, ge=0, le=2)
    """A false negative stays at least this far below the positive's similarity (alpha)."""
    beta: float = Field(0.3, ge=0, le=2)
    """And at most this far below it (beta)."""
    random_clusters: bool = False
    """Random centroids and clusters instead of the near ones (ablation)."""
    variant: Literal["paper", "released"] = "paper"
    """The paper's formulas, or the arithmetic of the released code."""

    excludes: ClassVar[Mapping[str, str]] = {"start_step": "sigma", "sigma": "start_step"}

    @classmethod
    def revision_for(cls, settings: Mapping[str, Any]) -> int:
        """2: random clusters use other seeds, and a global start samples the whole corpus."""
        is_revised = settings.get("random_clusters") or settings.get("initialization") == "corpus"
        return 2 if is_revised else cls.revision

    @model_validator(mode="after")
    def _is_consistent(self) -> ClusteringSettings:
        if self.alpha > self.beta:
            raise ValueError(f"alpha = {self.alpha} must not be above beta = {self.beta}.")
        if self.hard_negatives == "random" and self.false_negatives != "none":
            raise ValueError("hard_negatives = random has no clusters: set false_negatives = none.")
        if self.initialization == "corpus" and self.initialization_sample < self.clusters:
            raise ValueError(
                f"initialization_sample = {self.initialization_sample} is less than "
                f"clusters = {self.clusters}."
            )
        if self.start_step is not None and "sigma" in self.model_fields_set:
            raise ValueError(
                "sigma and start_step both determine when clustering starts: set one of them."
            )
        return self

    def unused_keys(self) -> set[str]:
        """Only one of sigma and start_step counts."""
        return super().unused_keys() | {"start_step" if self.start_step is None else "sigma"}

    def check(self, recipe: Recipe) -> None:
        """The first centroids are rows of a batch (K <= N)."""
        if self.initialization == "batch" and self.clusters > recipe.batch_size:
            raise ValueError(
                f"clusters = {self.clusters} is more than batch_size = {recipe.batch_size}: the "
                "first centroids are rows of a batch. Lower clusters, raise batch_size, or set "
                "initialization=corpus."
            )

    def make_part(self, context: Context) -> Clustering:
        """Make the centroids, initialized from the batch or from a sample of the corpus."""
        from clusterns.losses.clusterns import make_clustering

        rows = evenly_spaced(len(context.texts), self.initialization_sample)
        if self.initialization == "corpus" and len(rows) < self.clusters:
            raise UserError(
                f"{len(rows)} sentences cannot start {self.clusters} clusters: lower clusters, or add "
                "text."
            )

        def corpus_vectors() -> Tensor:
            return context.embed(select_texts(context.texts, rows))

        return make_clustering(
            self,
            context.model.get_embedding_dimension() or 0,
            seed=context.recipe.seed,
            corpus_vectors=corpus_vectors if self.initialization == "corpus" else None,
        )


@method
class ClusterNS(Method):
    """Batches are clustered: near centroids are hard negatives, cluster members false negatives.

    Each sample's second nearest centroid is a negative that is hard but belongs to another cluster.
    The other members of its own cluster, which may mean the same, are kept at a distance by a margin.
    """

    name = "clusterns"
    title = "ClusterNS"
    paper = "Deng et al., Findings of ACL 2023"
    parts = ("clustering",)
