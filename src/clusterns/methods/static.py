"""Static embeddings: a table of word-piece vectors, learned from the corpus alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterns.methods.method import Context
from clusterns.methods.registry import method
from clusterns.methods.untrained import Untrained, UntrainedSettings
from clusterns.static.settings import StaticSettings

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


class StaticRecipe(StaticSettings, UntrainedSettings):
    """Settings of static embeddings."""


@method
class Static(Untrained):
    """Vectors of word pieces from the corpus alone; a text is the weighted mean of its pieces.

    Singular vectors of the PPMI co-occurrence matrix, SIF weights and a partial whitening give the
    first table; contrastive training with each line and the next one improves it. It needs no base, no
    GPU and no download, takes minutes, and encodes as fast as a table lookup. The order of
    words is lost. The base is only used for comparison.
    """

    name = "static"
    title = "Static embeddings"
    paper = "this package, from Levy et al., TACL 2015, and Arora et al., ICLR 2017"
    needs = "about 10,000 lines of text or more, preferably in their original order"
    settings = StaticRecipe
    keeps_steps = True

    def make(self, context: Context) -> SentenceTransformer:
        """The table as a model of built-in modules."""
        from clusterns.encoder.load import load_tokenizer
        from clusterns.static.learn import learn

        recipe = context.recipe
        assert isinstance(recipe, StaticRecipe)
        assert context.folder is not None
        named = load_tokenizer(recipe.tokenizer).backend_tokenizer if recipe.tokenizer else None
        return learn(
            context.texts,
            recipe,
            documents=context.documents,
            tokenizer=named,
            seed=recipe.seed,
            folder=context.folder,
            quiet=context.quiet,
        )
