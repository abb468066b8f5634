"""Smoothed targets: a good encoder is shown the topics of a text, without labels or negatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from clusterns.errors import UserError
from clusterns.methods.mapped import Mapped, MappedSettings
from clusterns.methods.method import Context
from clusterns.methods.registry import method

if TYPE_CHECKING:
    from datasets import Dataset

    from clusterns.vectors.nearest import Vectors

FEWEST = 50


class SmoothedSettings(MappedSettings):
    """How the targets are made."""

    target_neighbours: int = Field(10, ge=0)
    """Nearest sentences of the text that a sentence is drawn to; 0 leaves them out."""
    target_power: float = Field(3.0, ge=0)
    """Power of the similarity in a neighbour's weight."""
    target_clusters: int = Field(50, ge=2)
    """Centroids of the text that a sentence is drawn to."""
    target_pull: float = Field(0.5, ge=0)
    """Weight of the centroids; 0 leaves them out."""
    target_temperature: float = Field(0.05, gt=0)
    """Temperature of the softmax over the centroids."""


@method
class Smoothed(Mapped):
    """Each sentence moves towards its neighbours and its topic, as the start sees them; general text stays.

    For a model that is good already and a text of topics. Contrastive learning pushes the sentences of a
    batch apart, which in a narrow text are of the same topics; here nothing is pushed, and no weight of the
    encoder changes: a map behind it, which acts near the text only, is fitted exactly, in seconds. The result
    lies on the way from the start to that map, where the score without labels is best of all that keep what the
    start knew.
    """

    name = "smoothed"
    title = "smoothed targets"
    paper = "this package"
    needs = "a good sentence encoder as the base"
    purpose = "topics"
    settings = SmoothedSettings
    defaults = {
        **Mapped.defaults,
        "heldout": 300,
        "shares": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    }

    def check_text(self, dataset: Dataset) -> None:
        """There must be something that sentences can have in common."""
        if len(dataset) < FEWEST:
            raise UserError(
                f"{len(dataset)} sentences are too few to tell what they have in common: name more text, or "
                "leave the model as it is."
            )

    def targets(self, context: Context, vectors: Vectors) -> Vectors:
        """A sentence's neighbours and topics, and itself."""
        from clusterns.vectors.smoothing import smoothed

        recipe = context.recipe
        assert isinstance(recipe, SmoothedSettings)
        return smoothed(
            vectors,
            neighbours=recipe.target_neighbours,
            power=recipe.target_power,
            clusters=recipe.target_clusters,
            pull=recipe.target_pull,
            temperature=recipe.target_temperature,
            seed=recipe.seed,
            progress=not context.quiet,
        )
