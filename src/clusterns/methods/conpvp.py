"""ConPVP: templates that state what a sentence is about, and what it is not about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clusterns.errors import UserError
from clusterns.methods.method import Context, Method
from clusterns.methods.recipe import THIRD_VIEW, PartSettings, Recipe
from clusterns.methods.registry import method, part
from clusterns.views.template import Template
from clusterns.views.view import View

if TYPE_CHECKING:
    from clusterns.losses.third_view import ThirdViewNegatives

# Our own sets, similar to the published ones.
AFFIRMATIVE = tuple(
    Template(text)
    for text in (
        '"{sentence}" is about {mask}.',
        '"{sentence}" means {mask}.',
        '"{sentence}" is a sentence about {mask}.',
        'The topic of "{sentence}" is {mask}.',
        'The meaning of "{sentence}" is {mask}.',
        'The sentence "{sentence}" tells of {mask}.',
        'In one word, "{sentence}" says {mask}.',
        'What "{sentence}" describes is {mask}.',
        '"{sentence}" can be summed up as {mask}.',
    )
)
NEGATED = tuple(
    Template(text)
    for text in (
        '"{sentence}" is not about {mask}.',
        '"{sentence}" does not mean {mask}.',
        '"{sentence}" is not a sentence about {mask}.',
        'The topic of "{sentence}" is not {mask}.',
        'The meaning of "{sentence}" is not {mask}.',
        'The sentence "{sentence}" does not tell of {mask}.',
        'What "{sentence}" describes is not {mask}.',
        '"{sentence}" cannot be summed up as {mask}.',
    )
)


@part("prototype")
class PrototypeSettings(PartSettings):
    """Each sentence in a negated template ("is not about") is a negative of every anchor (ConPVP)."""

    def make_part(self, context: Context) -> ThirdViewNegatives:
        """Make the third view's negatives."""
        from clusterns.losses.third_view import ThirdViewNegatives

        return ThirdViewNegatives()

    def more_views(
        self, recipe: Recipe, views: tuple[View, ...], folder: Path | None
    ) -> tuple[View, ...]:
        """The sentence in a negated template, chosen at random for each row."""
        if any(view.preprocess is None for view in views[2:]):
            raise UserError(THIRD_VIEW)
        if not views[1].templates:
            raise UserError("prototype needs a template: set template=bert, or method=conpvp.")
        return (*views[:2], replace(views[1], text=None, templates=NEGATED), *views[2:])


@method
class ConPVP(Method):
    """Affirmative and negated templates give a sentence a positive and a negative prototype.

    The anchor is the sentence with a few learned tokens before the mask. The positive's template
    says what the sentence is about, the negative's what it is not about.
    """

    name = "conpvp"
    title = prompt_title = "ConPVP"
    paper = "Zeng et al., Findings of EMNLP 2022"
    needs = "English text; a plain encoder with a mask token"
    parts = ("prototype",)
    defaults = {
        "template": "{sentence} {soft} {soft} {soft} {soft} {mask}.",
        "denoising": "dropout",
    }

    def check(self, recipe: Recipe) -> None:
        """Refuse a template for the positives: the method has its own."""
        if recipe.positive_template:
            raise ValueError("positive_template does not go with method conpvp, which has its own.")
        if not recipe.template:
            raise ValueError("method conpvp needs a template for the anchor.")

    def views(self, recipe: Recipe) -> tuple[View, ...]:
        """The anchor's template, and a random affirmative one."""
        anchor, positive = super().views(recipe)
        return anchor, replace(positive, templates=AFFIRMATIVE)
