"""What the methods share that adapt a model by a map behind it, which acts near a text only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from clusterns.data.split import select_texts
from clusterns.methods.adapting import Adapting, AdaptingSettings
from clusterns.methods.fitted import UntrainedSettings
from clusterns.methods.general import replayed_text
from clusterns.methods.method import Context, Ending
from clusterns.methods.recipe import Recipe
from clusterns.views.view import View

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from clusterns.vectors.nearest import Vectors

# Lines of general text: more tell no more about where it lies.
MOST_GENERAL = 2000


class MappedSettings(AdaptingSettings, UntrainedSettings):
    """How the map is fitted."""

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


class Mapped(Adapting):
    """A method that says where the vectors of a text should lie. No weight of the encoder changes."""

    settings: type[Recipe] = MappedSettings
    defaults = {"max_length": 128, "max_sentences": 20_000}

    def targets(self, context: Context, vectors: Vectors) -> Vectors:
        """(n, d): where the n vectors of the text, of length 1, should lie."""
        raise NotImplementedError

    def views(self, recipe: Recipe) -> tuple[View, ...]:
        """The sentence, as it is."""
        return (View(),)

    def make(self, context: Context) -> SentenceTransformer:
        """The start with the whole map behind it."""
        from clusterns.encoder.local_map import mapped
        from clusterns.vectors.local_map import fitted_map
        from clusterns.vectors.nearest import unit

        recipe, own = context.recipe, len(context.texts)
        assert isinstance(recipe, MappedSettings)
        wanted = MOST_GENERAL if recipe.replay else 0
        general = replayed_text(recipe.general, recipe.base, wanted, recipe.seed)
        # A model that cuts its vectors is mapped whole: each number of a vector has its own column.
        with context.model.truncate_embeddings(None):
            texts = [*select_texts(context.texts, range(own)), *general]
            vectors = unit(context.embed(texts, progress=not context.quiet).float().cpu().numpy())
        drawn = np.random.default_rng(recipe.seed).permutation(own)[: recipe.landmarks]
        local = fitted_map(
            vectors[:own],
            self.targets(context, vectors[:own]),
            vectors[own:],
            vectors[drawn],
            threshold=recipe.threshold,
            weight=recipe.replay,
            ridge=recipe.ridge,
        )
        return mapped(context.model, local)

    def judged(self, ending: Ending, shares: Sequence[float]) -> dict[float, Mapping[str, float]]:
        """All from the start's vectors, which the models on the way map."""
        from clusterns.encoder.local_map import map_of
        from clusterns.vectors.nearest import unit

        judge: Any = ending.evaluator
        start = ending.start
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
