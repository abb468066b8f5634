"""SimCSE: two views of each sentence, the other sentences of the batch as negatives."""

from __future__ import annotations

from clusterns.methods.method import Method
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
