"""SNCSE: the negated sentence as a soft negative, similar in words but not in meaning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from clusterns.errors import UserError
from clusterns.methods.method import Context, Method
from clusterns.methods.recipe import THIRD_VIEW, PartSettings, Recipe
from clusterns.methods.registry import method, part
from clusterns.views.settings import CROPPED, PAIRED
from clusterns.views.view import FullStop, Negation, View

if TYPE_CHECKING:
    from clusterns.losses.third_view import SoftNegatives


@part("soft_negative")
class SoftNegativeSettings(PartSettings):
    """The negated sentence, kept slightly less similar than the positive by a margin (SNCSE). English only."""

    soft_weight: float = Field(1e-3, ge=0)
    """Weight of the soft negatives' margin loss (lambda)."""
    soft_alpha: float = Field(0.1, ge=0, le=2)
    """A soft negative stays at least this far below the positive's similarity (alpha)."""
    soft_beta: float = Field(0.3, ge=0, le=2)
    """And at most this far below it (beta)."""

    @model_validator(mode="after")
    def _is_consistent(self) -> SoftNegativeSettings:
        if self.soft_alpha > self.soft_beta:
            raise ValueError(
                f"soft_alpha = {self.soft_alpha} must not be above soft_beta = {self.soft_beta}."
            )
        return self

    def check(self, recipe: Recipe) -> None:
        """Both views must be the whole sentence: the negation does not share the words of another sentence."""
        if recipe.positives in (*CROPPED, *PAIRED):
            raise ValueError(
                f"positives = {recipe.positives} does not go with soft negatives of whole sentences."
            )

    def make_part(self, context: Context) -> SoftNegatives:
        """Make the margin loss."""
        from clusterns.losses.third_view import SoftNegatives

        return SoftNegatives(self)

    def more_views(
        self, recipe: Recipe, views: tuple[View, ...], folder: Path | None
    ) -> tuple[View, ...]:
        """The negated sentence, in the positive's template."""
        if any(view.preprocess is None for view in views[2:]):
            raise UserError(THIRD_VIEW)
        return (*views[:2], replace(views[1], text=Negation(), tokens=None), *views[2:])


@method
class SNCSE(Method):
    """The sentence with a "not" is a soft negative: below the positive, above all other sentences.

    Encoders find sentences with the same words similar. The margin separates them without pushing
    the negation away as if it had nothing to do with the sentence.
    """

    name = "sncse"
    title = prompt_title = "SNCSE"
    paper = "Wang and Dou, 2022"
    needs = "English text; a plain encoder with a mask token"
    parts = ("soft_negative",)
    defaults = {
        "template": 'This sentence : " {sentence} " means {mask} .',
        "positive_template": 'This sentence of " {sentence} " means {mask} .',
        "denoising": "none",
    }

    def views(self, recipe: Recipe) -> tuple[View, ...]:
        """Add a missing full stop, in training as at test time."""
        anchor, positive = super().views(recipe)
        return replace(anchor, text=FullStop()), replace(positive, text=FullStop())
