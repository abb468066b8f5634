"""What the methods that do not train share: an encoder as it is, and what is fitted on its vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from clusterns.data.split import select_texts
from clusterns.encoder.settings import Average
from clusterns.methods.method import Method
from clusterns.methods.recipe import ContrastiveSettings, Recipe, TrainingSettings

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# Of the settings of training, these matter to a method that does not train.
READ = {"batch_size", "dev", "heldout", "max_sentences", "seed"}


class UntrainedSettings(Recipe):
    """Settings of a method that does not train."""

    def unread(self) -> set[str]:
        """Most settings of training say nothing here."""
        training = set(TrainingSettings.model_fields) | set(ContrastiveSettings.model_fields)
        views = {"positives", "crop_min", "repetition_rate", "positive_template", "denoising"}
        return (
            super().unread()
            | (training - READ)
            | views
            | {"head", "dropout", "max_length", "train_layers"}
        )


class FittedSettings(UntrainedSettings):
    """Settings of a map that is fitted on the vectors of a frozen encoder."""

    average: Average = "first-last-avg"
    """The vectors that it is fitted on: mean (of the last layer), first-last-avg, ..."""
    fit_length: int = Field(64, ge=4)
    """Tokens of a sentence that the fit reads; the saved model keeps the base's own limit."""
    fit_sentences: int | None = Field(None, ge=2)
    """Fit on so many sentences, evenly spaced over the corpus. Empty: on all."""

    def sample(self, texts: Sequence[str]) -> Sequence[str]:
        """The sentences of the fit."""
        if self.fit_sentences is None or self.fit_sentences >= len(texts):
            return texts
        return select_texts(
            texts, (i * len(texts) // self.fit_sentences for i in range(self.fit_sentences))
        )


class Untrained(Method):
    """A method that makes its model without training."""

    trains = False
    settings: type[Recipe] = UntrainedSettings

    def check(self, recipe: Recipe) -> None:
        """A template that nobody reads is a mistake."""
        if recipe.template:
            raise ValueError(f"template does not go with method {self.name}: choose method prompt.")

    def encoder(self, recipe: Recipe, base: str) -> SentenceTransformer:
        """What the run compares with: the base, pooled."""
        from clusterns.encoder.load import load_base

        return load_base(base, recipe.pooling)
