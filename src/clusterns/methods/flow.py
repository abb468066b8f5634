"""BERT-flow: an invertible map of the vectors of a frozen encoder to a standard normal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from clusterns.methods.fitted import FittedSettings, Untrained
from clusterns.methods.method import Context
from clusterns.methods.registry import method

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


class FlowSettings(FittedSettings):
    """Settings of BERT-flow."""

    flow_learning_rate: float = Field(1e-3, gt=0)
    """Learning rate of Adam, constant."""
    flow_epochs: float = Field(1.0, gt=0)
    """Passes over the sentences of the fit."""


@method
class FlowMethod(Untrained):
    """A normalising flow over the frozen encoder makes the corpus's vectors normally distributed.

    Three levels of three steps of activation norm, reversal and additive coupling are fitted by
    maximum likelihood. Published: 66.55 on STS with BERT-base, fitted on NLI sentences; the batch
    size was not. The saved map is a chain of linear and ReLU layers, 75 MB at 768 dimensions.
    """

    name = "flow"
    title = "BERT-flow"
    paper = "Li et al., EMNLP 2020"
    needs = "a base whose width is divisible by 8"
    settings = FlowSettings

    def make(self, context: Context) -> SentenceTransformer:
        """The base with the layers of the fitted flow behind it."""
        from clusterns.encoder.flow import fit_flow
        from clusterns.encoder.load import averaged_encoder

        recipe = context.recipe
        assert isinstance(recipe, FlowSettings)
        return fit_flow(
            averaged_encoder(recipe.base, recipe.average),
            recipe.sample(context.texts),
            learning_rate=recipe.flow_learning_rate,
            epochs=recipe.flow_epochs,
            seed=recipe.seed,
            max_length=recipe.fit_length,
            batch_size=recipe.batch_size,
            quiet=context.quiet,
        )
