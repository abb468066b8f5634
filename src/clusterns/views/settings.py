"""View and template settings."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from clusterns.settings import Settings
from clusterns.views.template import Template, template_pair

# Positives whose views are crops.
CROPPED = ("crop", "document")
# Positives that pair two sentences.
PAIRED = ("document", "next")


class ViewSettings(Settings):
    """How a sentence is turned into the two inputs of a training row."""

    positives: Literal["dropout", "crop", "repetition", "document", "next"] = "dropout"
    """How the two views differ: by dropout masks (the paper's), crops, or repeated subwords; document: crops of
    neighboring sentences of a document; next: a sentence and the next one, in the order of the text."""
    crop_min: float = Field(0.3, gt=0, le=1)
    """Shortest crop, as a fraction of the sentence's words."""
    repetition_rate: float = Field(0.32, ge=0, le=1)
    """With positives=repetition, largest fraction of a sentence's tokens to duplicate (9 tokens at most)."""
    max_length: int = Field(32, ge=4)
    """Maximum number of tokens per sentence during training; the saved model keeps the base's own limit."""


class PromptSettings(Settings):
    """Prompt-based models: wrap the sentence in a template and embed it as the mask's state."""

    template: str = ""
    """Template of the anchor, also used at test time: bert or roberta (published), or a text with {sentence} and
    {mask}. Empty: none."""
    positive_template: str = ""
    """Template of the positive. Empty: the published counterpart of the anchor's, or the same text."""
    denoising: Literal["clean", "dropout", "none"] = "dropout"
    """During training, subtract the mask state of the bare template, which runs with dropout (as published) or
    without (clean). none: do not subtract it."""

    @property
    def templates(self) -> tuple[Template, Template] | None:
        """The templates of anchor and positive, or None for a model without templates."""
        return template_pair(self.template, self.positive_template) if self.template else None

    @model_validator(mode="after")
    def _check_templates(self) -> PromptSettings:
        if self.positive_template and not self.template:
            raise ValueError("positive_template needs a template, but template is empty.")
        _ = self.templates
        return self
