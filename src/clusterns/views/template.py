"""Templates: text around a sentence, with a mask whose state becomes the embedding."""

from __future__ import annotations

from dataclasses import dataclass

from clusterns.errors import UserError

SENTENCE = "{sentence}"
MASK = "{mask}"
SOFT = "{soft}"


@dataclass(frozen=True)
class Template:
    """A text with exactly one ``{sentence}`` and exactly one ``{mask}``.

    Each ``{soft}`` is a new vocabulary token that is learned during training.
    """

    text: str

    def __post_init__(self) -> None:
        for slot in (SENTENCE, MASK):
            count = self.text.count(slot)
            if count != 1:
                raise UserError(
                    f"the template {self.text!r} contains {slot} {count} times, but must contain it exactly "
                    f"once. Published templates: {', '.join(PUBLISHED)}."
                )

    @property
    def soft_tokens(self) -> list[str]:
        """Names of the learned tokens, in order."""
        return [f"[soft{i}]" for i in range(1, self.text.count(SOFT) + 1)]


# PromptBERT's pairs: the anchor's template (also used at test time) and the positive's.
PUBLISHED = {
    "bert": (
        'This sentence of "{sentence}" means {mask}.',
        'This sentence : "{sentence}" means {mask}.',
    ),
    "roberta": (
        "This sentence : ' {sentence} ' means {mask}.",
        "The sentence : ' {sentence} ' means {mask}.",
    ),
}


def template_pair(template: str, positive: str = "") -> tuple[Template, Template]:
    """The templates of anchor and positive, each a text or the name of a published pair.

    Without ``positive``, a published anchor gets its published counterpart, and a text is used for both.
    """
    anchor_text, positive_text = PUBLISHED.get(template, (template, template))
    if positive:
        positive_text = PUBLISHED[positive][1] if positive in PUBLISHED else positive
    return Template(anchor_text), Template(positive_text)
