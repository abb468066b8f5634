"""Views: how a sentence becomes the inputs of one training row."""

from clusterns.views.collator import ViewCollator, crop
from clusterns.views.settings import ViewSettings

__all__ = ["ViewCollator", "ViewSettings", "crop"]
