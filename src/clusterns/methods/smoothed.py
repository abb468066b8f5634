"""Smoothed targets: a local map lets a good encoder see the topics of a text, without labels or negatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from clusterns.corpus.taken import taken
from clusterns.errors import UserError
from clusterns.methods.adapting import Adapting, AdaptingSettings
from clusterns.methods.fitted import Untrained, UntrainedSettings
from clusterns.methods.general import replayed_text
from clusterns.methods.method import Context, Ending
from clusterns.methods.recipe import Recipe
from clusterns.methods.registry import method
from clusterns.views.view import View

if TYPE_CHECKING:
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer

# Lines of general text: more tell no more about where it lies.
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
    landmarks: int = Field(2000, ge=1)
    """Sentences of the text, drawn at random, that pull what is near them; all of them where there are fewer."""
    threshold: float = Field(0.2, ge=0, lt=1)
    """The similarity from which on a landmark pulls: what is farther from all of them stays exactly as it is."""
    ridge: float = Field(3e-5, gt=0)
    """Keeps the pulls small where the texts say little."""

    def unread(self) -> set[str]:
        """How much of a sentence is read matters here."""
        return super().unread() - {"max_length"}


@method
class Smoothed(Adapting, Untrained):
    """Each sentence moves towards its neighbours and its topic, as the start sees them; general text stays.

    For a model that is good already and a text of topics. Contrastive learning pushes the sentences of a
    batch apart, which in a narrow text are of the same topics; here nothing is pushed, and no weight of the
    encoder changes: a map behind it, which acts near the text only, is fitted exactly, in seconds. The result
    lies on the way from the start to that map, as far as the start's knowledge is kept.
    """

    name = "smoothed"
    title = "smoothed targets"
    paper = "this package"
    needs = "a good sentence encoder as the base"
    purpose = "topics"
    settings = SmoothedSettings
    defaults = {
        "max_length": 128,
        "max_sentences": 20_000,
        "heldout": 300,
        "keep": 0.99,
        "shares": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    }

    def check_text(self, dataset: Dataset) -> None:
        """There must be something that sentences can have in common."""
        if len(dataset) < FEWEST:
            raise UserError(
                f"{len(dataset)} sentences are too few to tell what they have in common: name more text, or "
                "leave the model as it is."
            )

    def views(self, recipe: Recipe) -> tuple[View, ...]:
        """The sentence, as it is."""
        return (View(),)

    def make(self, context: Context) -> SentenceTransformer:
        """The start with the whole map behind it."""
        from clusterns.encoder.local_map import mapped
        from clusterns.vectors.local_map import fitted_map
        from clusterns.vectors.nearest import unit
        from clusterns.vectors.smoothing import smoothed

        recipe, own = context.recipe, len(context.texts)
        assert isinstance(recipe, SmoothedSettings)
        wanted = MOST_GENERAL if recipe.replay else 0
        general = replayed_text(recipe.general, recipe.base, wanted, recipe.seed)
        # A model that cuts its vectors is mapped whole: each number of a vector has its own column.
        with context.model.truncate_embeddings(None):
            texts = [*taken(context.texts, range(own)), *general]
            vectors = unit(context.embed(texts, progress=not context.quiet).float().cpu().numpy())
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
        drawn = np.random.default_rng(recipe.seed).permutation(own)[: recipe.landmarks]
        local = fitted_map(
            vectors[:own],
            targets,
            vectors[own:],
            vectors[drawn],
            threshold=recipe.threshold,
            weight=recipe.replay,
            ridge=recipe.ridge,
        )
        return mapped(context.model, local)

    def judged(
        self, ending: Ending, start: SentenceTransformer, shares: Sequence[float]
    ) -> dict[float, Mapping[str, float]]:
        """All from the start's vectors, which the models on the way map."""
        from clusterns.encoder.local_map import map_of
        from clusterns.vectors.nearest import unit

        judge: Any = ending.evaluator
        with start.truncate_embeddings(None):
            vectors = unit(judge.embed(start))
        change = map_of(ending.model)(vectors) - vectors
        cut = slice(start.truncate_dim)
        return {share: judge.score((vectors + share * change)[:, cut]) for share in shares}

    def on_the_way(
        self, start: SentenceTransformer, made: SentenceTransformer, share: float
    ) -> SentenceTransformer:
        """The start with so much of the map behind it; without its layers where that is nothing."""
        from clusterns.encoder.local_map import map_of, mapped

        return mapped(start, map_of(made).scaled(share)) if share else start
