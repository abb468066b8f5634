"""Fits: what a method computes once before it trains, or instead of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sentence_transformers import SentenceTransformer

from clusterns.files import whole_folder
from clusterns.methods.method import Method
from clusterns.methods.recipe import Recipe
from clusterns.methods.registry import all_parts, get_method
from clusterns.training.build import build_context


def has_fit(recipe: Recipe) -> bool:
    """Whether the method or one of its parts computes something before it trains."""
    own = type(get_method(recipe.method)).fit is not Method.fit
    return own or any(settings.fit is not Recipe.fit for settings in all_parts(recipe))


def fit_once(
    recipe: Recipe, model: SentenceTransformer, texts: Sequence[str], folder: Path
) -> None:
    """Let the method and its parts leave their files in ``folder``, whole; never a second time."""
    if folder.exists():
        return
    with whole_folder(folder) as temporary, model.truncate_embeddings(None):
        context = build_context(recipe, model, texts, temporary)
        get_method(recipe.method).fit(context)
        for settings in all_parts(recipe):
            settings.fit(recipe, context)
