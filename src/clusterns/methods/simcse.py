"""SimCSE and PromptBERT: two views of each sentence, the other sentences of the batch as negatives."""

from __future__ import annotations

from clusterns.methods.method import Method
from clusterns.methods.recipe import Recipe
from clusterns.methods.registry import method


@method
class SimCSE(Method):
    """The positive is the same sentence under another dropout mask; all others are negatives.

    With a template it is PromptBERT: the positive is the sentence in another template.
    """

    name = "simcse"
    title = "SimCSE"
    prompt_title = "PromptBERT"
    paper = "Gao et al., EMNLP 2021"


@method
class PromptBERT(Method):
    """SimCSE in templates: the mask's state is the vector, without what the template contributes.

    Two templates make the two views of a sentence. In training, the mask state of the bare template
    is subtracted, so that what is left comes from the sentence.
    """

    name = "promptbert"
    title = prompt_title = "PromptBERT"
    paper = "Jiang et al., EMNLP 2022"
    needs = "a plain encoder with a mask token"
    defaults = {"template": "bert"}

    def check(self, recipe: Recipe) -> None:
        """Require a template."""
        if not recipe.template:
            raise ValueError("method promptbert needs a template: set template=bert or roberta.")
