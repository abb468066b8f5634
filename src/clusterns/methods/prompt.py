"""The untuned prompt encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterns.methods.fitted import Untrained
from clusterns.methods.method import Context
from clusterns.methods.recipe import Recipe
from clusterns.methods.registry import method

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


@method
class UntunedPrompt(Untrained):
    """The sentence in a template, and the state of the template's mask as its vector.

    Published: 67.85 on STS with BERT-base and this template, without training; the template with
    `of`, which training prefers, gives far less.
    """

    name = "prompt"
    title = "Untuned prompt"
    paper = "Jiang et al., EMNLP 2022"
    needs = "a base with a mask token"
    defaults = {"template": 'This sentence : "{sentence}" means {mask}.'}

    def check(self, recipe: Recipe) -> None:
        """Without a template there is nothing to look at."""
        if not recipe.template:
            raise ValueError(
                "method prompt needs a template: leave it out to have the published one."
            )

    def make(self, context: Context) -> SentenceTransformer:
        """The base in the template."""
        from clusterns.encoder.prompt import prompt_encoder

        assert context.recipe.templates is not None
        return prompt_encoder(context.recipe.base, context.recipe.templates[0])
