"""What is known of a training before it begins, and worth saying."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pydantic import ValidationError

from clusterns.console import log
from clusterns.encoder.locate import MINIBERT, is_sentence_transformer, resolve_base
from clusterns.methods.registry import get_method
from clusterns.training.recipe import Recipe

LARGER_BASE = "google-bert/bert-base-uncased"


def say_base(recipe: Recipe, no_base: bool) -> None:
    """Say what is to be expected of a start from this base; ``no_base``: none was named."""
    if no_base:
        log(
            f"The base is {MINIBERT}, the small BERT inside this package. A larger one is "
            f"worth naming where there is a GPU, or a day: --base {LARGER_BASE}, 440 MB to "
            "download and about 30 times the time a step (--dry-run says what that is here)."
        )
    elif get_method(recipe.method).trains and is_sentence_transformer(resolve_base(recipe.base)):
        log(
            "The base is a sentence encoder already: contrastive training on a narrow corpus is known "
            "to make a good one worse, on that corpus and elsewhere. `clusterns adapt` is made for it "
            "(docs/adapt.md)."
        )


def say_documents(recipe: Recipe) -> None:
    """Say what else the documents of a text are good for."""
    if get_method(recipe.method).trains and recipe.positives != "document" and _could_pair(recipe):
        log(
            "Whole documents are kept out of training. To learn from them too, from sentences that stand "
            "next to each other: --set positives=document."
        )


def _could_pair(recipe: Recipe) -> bool:
    """Whether the method takes neighbouring sentences as positives: some refuse it."""
    try:
        type(recipe).model_validate({**recipe.model_dump(), "positives": "document"})
    except ValidationError:
        return False
    return True


def say_truncation(recipe: Recipe, sample: Sequence[str]) -> None:
    """Say how much of the text is not read, by a sample of it."""
    from clusterns.encoder.load import load_tokenizer

    if not len(sample) or "max_length" in recipe.unread():
        return
    tokenizer = load_tokenizer(recipe.base)
    if tokenizer.model_max_length == math.inf:  # static word vectors read all of a text
        return
    # In a template, the sentence is counted without the tokeniser's own tokens.
    tokens = tokenizer(list(sample), add_special_tokens=not recipe.template)["input_ids"]
    cut = sum(len(ids) > recipe.max_length for ids in tokens) / max(1, len(tokens))
    log(
        f"{cut:.1%} of the sentences are longer than max_length = {recipe.max_length} tokens and cut."
    )
