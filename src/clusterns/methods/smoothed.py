"""Smoothed targets: a linear map lets a good encoder see the topics of a text, without labels or negatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from clusterns.corpus.taken import taken
from clusterns.errors import UserError
from clusterns.methods.adapting import Adapting, AdaptingSettings
from clusterns.methods.fitted import Untrained, UntrainedSettings
from clusterns.methods.general import replayed_text
from clusterns.methods.method import Context
from clusterns.methods.registry import method

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# More lines of general text tell no more about where it lies.
MOST_GENERAL = 2000
FEWEST = 50


class SmoothedSettings(AdaptingSettings, UntrainedSettings):
    """How the targets are made, and the map to them."""

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
    replay: float = Field(0.5, ge=0)
    """Weight of general text, whose vectors are to stay, against the text's own."""
    ridge: float = Field(1e-3, gt=0)
    """Holds the map to the identity where neither text says anything."""

    def unread(self) -> set[str]:
        """How much is learned from matters here."""
        return super().unread() - {"max_sentences"}


@method
class Smoothed(Adapting, Untrained):
    """Each sentence moves towards its neighbours and its topic, as the start sees them; general text stays.

    For a model that is good already and a text of topics. Contrastive learning pushes the sentences of a
    batch apart, which in a narrow text are of the same topics; here nothing is pushed, and no weight of the
    encoder changes: a linear map behind it is fitted exactly, in seconds. The result lies on the way from
    the start to that map, as far as the start's knowledge is kept.
    """

    name = "smoothed"
    title = "smoothed targets"
    paper = "this package"
    needs = "a good sentence encoder as the base"
    purpose = "topics"
    settings = SmoothedSettings
    defaults = {
        "max_sentences": 20_000,
        "heldout": 300,
        "shares": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    }

    def make(self, context: Context) -> SentenceTransformer:
        """The start with the whole map behind it."""
        from clusterns.encoder.linear_map import mapped
        from clusterns.vectors.embed import Embedder
        from clusterns.vectors.linear_map import fitted_change
        from clusterns.vectors.nearest import unit
        from clusterns.vectors.smoothing import smoothed

        recipe, model, own = context.recipe, context.model, len(context.texts)
        assert isinstance(recipe, SmoothedSettings)
        if own < FEWEST:
            raise UserError(
                f"{own} sentences are too few to tell what they have in common: name more text, or leave "
                "the model as it is."
            )
        wanted = min(round(recipe.replay * own), MOST_GENERAL)
        general = replayed_text(recipe.general, recipe.base, wanted, recipe.seed)
        # A model that cuts its vectors is mapped whole: each number of a vector has its own column.
        with model.truncate_embeddings(None):
            embed = Embedder(model, recipe.batch_size, progress=not context.quiet)
            vectors = unit(embed([*taken(context.texts, range(own)), *general]))
        targets = smoothed(
            vectors[:own],
            neighbours=recipe.target_neighbours,
            power=recipe.target_power,
            clusters=recipe.target_clusters,
            pull=recipe.target_pull,
            temperature=recipe.target_temperature,
            seed=recipe.seed,
            progress=not context.quiet,
        )
        change = fitted_change(
            vectors[:own], targets, vectors[own:], weight=recipe.replay, ridge=recipe.ridge
        )
        return mapped(model, change)

    def on_the_way(
        self, start: SentenceTransformer, made: SentenceTransformer, share: float
    ) -> SentenceTransformer:
        """The start with so much of the map behind it; without the layer where that is nothing."""
        from clusterns.encoder.interpolation import between
        from clusterns.encoder.linear_map import mapped

        if share == 0:
            return start
        with start.truncate_embeddings(None):
            width = start.get_embedding_dimension()
        assert width is not None
        return between(mapped(start, np.zeros((width, width))), made, share)
