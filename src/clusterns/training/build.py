"""From a recipe to what a run consists of: model, loss, collator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from torch import Tensor
from transformers import set_seed

from clusterns.console import bar
from clusterns.data.documents import document_pairs
from clusterns.encoder.denoising import add_denoising
from clusterns.encoder.freeze import train_last_layers
from clusterns.encoder.load import load_tokenizer, pooling_of
from clusterns.encoder.locate import is_sentence_transformer, resolve_base
from clusterns.encoder.speed import (
    has_dropout,
    set_dropout,
    train_first_position_only,
    use_fast_dropout,
)
from clusterns.encoder.training_modules import (
    add_masked_lm_head,
    add_training_head,
    preserve_rng_state,
    training_modules_active,
)
from clusterns.errors import UserError
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.features import columns_of
from clusterns.losses.masked_lm import MaskedLanguageModelling
from clusterns.methods.method import Context
from clusterns.methods.registry import all_parts, get_method
from clusterns.training.recipe import Recipe
from clusterns.views.collator import PAIR, ViewCollator
from clusterns.views.prompting import TemplatedViews
from clusterns.views.template import Template
from clusterns.views.view import View

# More rows at once than this gain nothing on a CPU, and pad more.
CPU_MINI_BATCH = 64


def build_model(recipe: Recipe) -> SentenceTransformer:
    """The base of a recipe with its train-only heads, the same for the same seed."""
    set_seed(recipe.seed)
    method = get_method(recipe.method)
    base = resolve_base(recipe.base)
    model = method.encoder(recipe, base)
    views = build_views(recipe)
    templates = _templates(recipe, views)
    if recipe.dropout is not None:
        set_dropout(model, recipe.dropout)
    if recipe.train_layers is not None:
        train_last_layers(model, recipe.train_layers)
    if method.views_are_the_same(views) and not has_dropout(model):
        raise UserError(
            f"the base {base} has no dropout, so the two views of a sentence would be the same: "
            "set dropout=0.1, or positives=crop."
        )
    if not templates and recipe.max_length > model.max_seq_length:
        raise UserError(
            f"max_length = {recipe.max_length} is more than the {model.max_seq_length} tokens that "
            f"the base {base} can read."
        )
    plain_cls = pooling_of(model) == "cls" and not is_sentence_transformer(base)
    if recipe.head if recipe.head is not None else plain_cls or templates:
        add_training_head(model)
    if recipe.templates and recipe.denoising != "none":
        add_denoising(model, base, templates, dropout=recipe.denoising == "dropout")
    if recipe.masked_lm_weight:
        add_masked_lm_head(model, base)
    _make_fast(model, recipe)
    card = model.model_card_data
    card.generate_widget_examples = False
    title = method.title
    if recipe.templates:
        title = method.prompt_title or f"prompt-based {title}"
    card.model_name = f"{Path(base).name} trained with {title}"
    return model


def _make_fast(model: SentenceTransformer, recipe: Recipe) -> None:
    """The same training for less work, where the model allows it."""
    if model.device.type == "cpu":
        use_fast_dropout(model)
    # A template's vector is at its mask, and the masked-LM objective reads every position.
    if not recipe.templates and not recipe.masked_lm_weight:
        train_first_position_only(model)


def build_views(recipe: Recipe, folder: Path | None = None) -> tuple[View, ...]:
    """The views of a row: those of the method, and those that its parts add.

    Args:
        recipe: all settings.
        folder: files that the fit has left.
    """
    views = get_method(recipe.method).views(recipe)
    for settings in all_parts(recipe):
        views = settings.more_views(recipe, views, folder)
    return views


def _templates(recipe: Recipe, views: Sequence[View]) -> list[Template]:
    """The templates of all views, the model's own one first."""
    own = [recipe.templates[0]] if recipe.templates else []
    return list(dict.fromkeys([*own, *(each for view in views for each in view.templates)]))


def build_loss(
    recipe: Recipe,
    model: SentenceTransformer,
    texts: Sequence[str],
    folder: Path | None = None,
) -> ContrastiveLoss:
    """The loss of a recipe's method, on the device of the model.

    Args:
        recipe: all settings.
        model: the model that it trains.
        texts: the corpus.
        folder: files that the fit has left.
    """
    views = build_views(recipe, folder)
    mini_batch = recipe.mini_batch_size
    if mini_batch is None and model.device == torch.device("cpu"):
        mini_batch = CPU_MINI_BATCH
    masked_lm = None
    if recipe.masked_lm_weight:
        masked_lm = MaskedLanguageModelling(model.tokenizer, recipe.masked_lm_probability)
    with model.truncate_embeddings(None):  # a model that cuts its vectors is trained whole
        context = build_context(recipe, model, texts, folder)
        loss = get_method(recipe.method).loss(
            model,
            [settings.make_part(recipe, context) for settings in all_parts(recipe)],
            temperature=recipe.temperature,
            views=sum(view.preprocess is None for view in views),
            auxiliary_columns=sum(view.preprocess is not None for view in views),
            mini_batch_size=mini_batch,
            gradient_cache=recipe.gradient_cache,
            masked_lm=masked_lm,
            masked_lm_weight=recipe.masked_lm_weight,
        )
    return loss.to(model.device)


def training_rows(recipe: Recipe, dataset: Dataset) -> Dataset:
    """What the collator reads of a dataset: ``text``, or two texts. Other columns would be inputs of the model."""
    if recipe.positives == "document" and "text" in dataset.column_names:
        return document_pairs(dataset)
    return dataset.select_columns([n for n in ("text", *PAIR) if n in dataset.column_names])


def texts_of(dataset: Dataset) -> Sequence[str]:
    """The sentences of a dataset; of rows of two texts, the first ones."""
    return dataset["text" if "text" in dataset.column_names else PAIR[0]]


def build_context(
    recipe: Recipe,
    model: SentenceTransformer,
    texts: Sequence[str],
    folder: Path | None = None,
) -> Context:
    """What parts and fits may look at."""

    def embed(sentences: Sequence[str], progress: bool = False) -> Tensor:
        """Training vectors of sentences, as the anchors of a batch are made."""
        collator, found = build_collator(recipe, model, folder), []
        collator.views = collator.views[:1]
        was_training = model.training
        model.eval()
        # Sentences of one length pad little.
        order = sorted(range(len(sentences)), key=lambda row: -len(sentences[row]))
        with (
            torch.no_grad(), training_modules_active(model), preserve_rng_state(model.device),
            bar(total=len(order), desc="Embedding", unit=" texts", shown=progress) as shown,
        ):  # fmt: skip
            for start in range(0, len(order), CPU_MINI_BATCH):
                rows = [{"text": sentences[row]} for row in order[start : start + CPU_MINI_BATCH]]
                anchors = dict(columns_of(collator(rows), model.device)[0])
                found.append(model(anchors)["sentence_embedding"])
                shown.update(len(rows))
        model.train(was_training)
        return torch.cat(found)[torch.tensor(order).argsort().to(model.device)]

    return Context(recipe, model, texts, embed, folder)


def build_collator(
    recipe: Recipe, model: SentenceTransformer, folder: Path | None = None
) -> ViewCollator:
    """Tokenises as the model's users will, with its default prompt where it has one; or each view
    in its template."""
    prompt = model.prompts.get(model.default_prompt_name) if model.default_prompt_name else None
    preprocess: Callable[..., dict[str, Any]] = model.preprocess
    views = build_views(recipe, folder)
    if templates := _templates(recipe, views):
        tokenizer = load_tokenizer(recipe.base)
        preprocess = TemplatedViews(tokenizer, templates, model.max_seq_length)
    return ViewCollator(
        preprocess_fn=preprocess,
        prompts=prompt or None,
        max_length=min(recipe.max_length, model.max_seq_length or recipe.max_length),
        views=views,
        longest=model.max_seq_length,
        seed=recipe.seed,
    )
