"""PromptBERT: SimCSE whose vector is the state of a template's mask."""

from __future__ import annotations

from clusterns.methods.method import Method
from clusterns.methods.recipe import Recipe
from clusterns.methods.registry import method


@method
class PromptBERT(Method):
    """A template around the sentence, whose mask is its vector; what the template says is taken off.

    Two templates make the two views of a sentence, and the mask's state of the template alone is
    subtracted in training, so that what is left comes from the sentence.
    """

    name = "promptbert"
    title = prompt_title = "PromptBERT"
    paper = "Jiang et al., EMNLP 2022"
    needs = "a plain encoder with a mask token"
    defaults = {"template": "bert"}

    def check(self, recipe: Recipe) -> None:
        """There is no PromptBERT without a template."""
        if not recipe.template:
            raise ValueError("method promptbert needs a template: set template=bert or roberta.")
