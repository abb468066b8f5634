"""Averaged word vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from clusterns.methods.fitted import Untrained, UntrainedSettings
from clusterns.methods.method import Context
from clusterns.methods.recipe import Recipe
from clusterns.methods.registry import method

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


class GloVeSettings(UntrainedSettings):
    """Where the word vectors are."""

    places: ClassVar[tuple[str, ...]] = ("word_vectors",)

    word_vectors: str = ""
    """A file of word vectors in GloVe's text format, packed by gzip or not."""
    stop_words: bool = True
    """Leave out English stop words, as the tokenizer behind the published number does."""


@method
class GloVe(Untrained):
    """A sentence is the mean of the vectors of its words, stop words left out.

    Published: 61.32 on STS with 300 dimensions (Sentence-BERT's table).
    """

    name = "glove"
    title = "Averaged word vectors"
    paper = "Pennington et al., EMNLP 2014"
    needs = "a file of word vectors"
    settings = GloVeSettings

    def check(self, recipe: Recipe) -> None:
        """There must be vectors."""
        assert isinstance(recipe, GloVeSettings)
        if not recipe.word_vectors:
            raise ValueError("method glove needs word_vectors, a file: glove.6B.300d.txt, say.")
        if not Path(recipe.word_vectors).is_file():
            raise ValueError(f"word_vectors = {recipe.word_vectors}: there is no such file.")

    def make(self, context: Context) -> SentenceTransformer:
        """The file as a model."""
        from clusterns.encoder.word_vectors import load_word_vectors

        assert isinstance(context.recipe, GloVeSettings)
        path = Path(context.recipe.word_vectors)
        model = load_word_vectors(path, stop_words=context.recipe.stop_words, quiet=context.quiet)
        model.model_card_data.model_name = f"{path.name}, averaged"
        return model
