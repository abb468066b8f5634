"""Settings of the views."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clusterns.settings import Settings


class ViewSettings(Settings):
    """How a sentence becomes the two inputs of a training row."""

    positives: Literal["dropout", "crop"] = "dropout"
    """The positive: the same sentence under another dropout mask (the paper's), or a random crop of it."""
    crop_min: float = Field(0.5, gt=0, le=1)
    """Shortest crop, as a share of the sentence's words."""
    max_length: int = Field(32, ge=4)
    """Tokens of a sentence that training sees; the saved model keeps the base's own limit."""
