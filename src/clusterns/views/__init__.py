"""Views: how a sentence becomes the inputs of one training row."""

from clusterns.views.collator import ViewCollator, crop, words_of
from clusterns.views.prompting import TemplatedViews, TemplateTokens, templated_tokenizer
from clusterns.views.settings import PromptSettings, ViewSettings
from clusterns.views.template import PUBLISHED, Template, template_pair

__all__ = [
    "PUBLISHED",
    "PromptSettings",
    "Template",
    "TemplateTokens",
    "TemplatedViews",
    "ViewCollator",
    "ViewSettings",
    "crop",
    "template_pair",
    "templated_tokenizer",
    "words_of",
]
