"""Averages of an encoder's own states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterns.encoder.settings import Average
from clusterns.methods.fitted import Untrained, UntrainedSettings
from clusterns.methods.method import Context
from clusterns.methods.registry import method

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


class AverageSettings(UntrainedSettings):
    """Which states become the vector."""

    average: Average = "embedding-last-avg"
    """cls, mean (of the last layer), first-last-avg, embedding-last-avg (of the tables), embedding-avg, ..."""


@method
class Averages(Untrained):
    """The encoder as it is: the mean of its token states, or the state of one token.

    The tables' average of BERT-base (56.70 on STS) is that of the static embeddings and the last
    layer; the first layer with the last one gives more.
    """

    name = "average"
    title = "Average of states"
    paper = "Reimers and Gurevych, EMNLP 2019"
    settings = AverageSettings

    def make(self, context: Context) -> SentenceTransformer:
        """The base with this average."""
        from clusterns.encoder.load import averaged_encoder

        assert isinstance(context.recipe, AverageSettings)
        return averaged_encoder(context.recipe.base, context.recipe.average)
