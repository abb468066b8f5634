"""From a recipe to its parts: model, loss, collator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer
from transformers import set_seed

from clusterns.encoder.base import (
    is_sentence_transformer,
    load_base,
    load_tokenizer,
    pooling_of,
    resolve_base,
)
from clusterns.encoder.dropout import draw_dropout_fast, has_dropout, set_dropout
from clusterns.encoder.first_position import train_first_position_only
from clusterns.encoder.head import add_training_head
from clusterns.encoder.masked_lm import add_masked_lm_head
from clusterns.encoder.prompt import add_denoising, prompt_encoder
from clusterns.errors import UserError
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.methods.clusterns import clusterns
from clusterns.methods.simcse import simcse
from clusterns.training.recipe import Recipe
from clusterns.views.collator import ViewCollator
from clusterns.views.prompting import TemplatedViews

METHOD_NAMES = {"simcse": "SimCSE", "clusterns": "ClusterNS"}
PROMPT_METHOD_NAMES = {"simcse": "PromptBERT", "clusterns": "prompt-based ClusterNS"}


def build_model(recipe: Recipe) -> SentenceTransformer:
    """The base of a recipe with its train-only heads, the same for the same seed."""
    set_seed(recipe.seed)
    base = resolve_base(recipe.base)
    if recipe.templates:
        model = prompt_encoder(base, recipe.templates[0])
    else:
        model = load_base(base, recipe.pooling)
    if recipe.dropout is not None:
        set_dropout(model, recipe.dropout)
    if recipe.positives == "dropout" and not recipe.templates and not has_dropout(model):
        raise UserError(
            f"the base {base} has no dropout, so the two views of a sentence would be the same: "
            "set dropout=0.1, or positives=crop."
        )
    if not recipe.templates and recipe.max_length > model.max_seq_length:
        raise UserError(
            f"max_length = {recipe.max_length} is more than the {model.max_seq_length} tokens that "
            f"the base {base} can read."
        )
    plain_cls = pooling_of(model) == "cls" and not is_sentence_transformer(base)
    if recipe.head if recipe.head is not None else plain_cls or recipe.templates:
        add_training_head(model)
    if recipe.templates and recipe.denoising != "none":
        add_denoising(model, base, recipe.templates, dropout=recipe.denoising == "dropout")
    if recipe.masked_lm_weight:
        add_masked_lm_head(model, base)
    _make_fast(model, recipe)
    card = model.model_card_data
    card.generate_widget_examples = False
    name = Path(base).name
    names = PROMPT_METHOD_NAMES if recipe.templates else METHOD_NAMES
    card.model_name = f"{name} trained with {names[recipe.method]}"
    return model


def _make_fast(model: SentenceTransformer, recipe: Recipe) -> None:
    """The same training for less work, where the model allows it."""
    if model.device.type == "cpu":
        draw_dropout_fast(model)
    # A template's vector is at its mask, and the masked-LM objective reads every position.
    if not recipe.templates and not recipe.masked_lm_weight:
        train_first_position_only(model)


def build_loss(recipe: Recipe, model: SentenceTransformer, texts: Any) -> ContrastiveLoss:
    """The loss of a recipe's method, on the device of the model."""
    with model.truncate_embeddings(None):  # a model that cuts its vectors is trained whole
        if recipe.method == "simcse":
            loss: ContrastiveLoss = simcse(model, recipe)
        else:
            loss = clusterns(model, recipe, recipe.seed, texts)
    return loss.to(model.device)


def build_collator(recipe: Recipe, model: SentenceTransformer) -> ViewCollator:
    """Tokenises as the model's users will, with its default prompt where it has one; or each view
    in its template."""
    prompt = model.prompts.get(model.default_prompt_name) if model.default_prompt_name else None
    prompts: str | dict[str, str] | None = prompt or None
    preprocess: Callable[..., dict[str, Any]] = model.preprocess
    if recipe.templates:
        tokenizer = load_tokenizer(recipe.base)
        preprocess = TemplatedViews(tokenizer, recipe.templates, model.max_seq_length)
        anchor, positive = recipe.templates
        prompts = {"anchor": anchor.text, "positive": positive.text}
    return ViewCollator(
        preprocess_fn=preprocess,
        prompts=prompts,
        max_length=recipe.max_length,
        positives=recipe.positives,
        crop_min=recipe.crop_min,
        seed=recipe.seed,
    )
