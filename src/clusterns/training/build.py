"""Build the components of a run from a recipe: model, views, collator, loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from torch import Tensor
from transformers import set_seed

from clusterns.console import log
from clusterns.data.documents import document_pairs
from clusterns.encoder.denoising import add_denoising
from clusterns.encoder.freeze import train_last_layers
from clusterns.encoder.load import default_prompt, load_tokenizer, pooling_of, tokenizer_of
from clusterns.encoder.locate import is_sentence_transformer, resolve_base
from clusterns.encoder.speed import (
    by_length,
    has_dropout,
    in_batches,
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
from clusterns.files import atomic_folder, recover_folder
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.features import Features, columns_of
from clusterns.losses.masked_lm import MaskedLanguageModelling
from clusterns.methods.method import Context
from clusterns.methods.recipe import PartSettings
from clusterns.methods.registry import get_method, part_settings
from clusterns.training.processes import processes
from clusterns.training.recipe import Recipe
from clusterns.views.collator import PAIR, ViewCollator
from clusterns.views.prompting import TemplatedViews
from clusterns.views.settings import PAIRED
from clusterns.views.template import Template
from clusterns.views.view import View

# On a CPU, larger mini-batches gain nothing and pad more.
CPU_MINI_BATCH = 64
SAMPLE = 1000  # number of sentences whose tokens are counted


@dataclass(frozen=True)
class Setup:
    """The components of a run."""

    recipe: Recipe
    model: SentenceTransformer
    rows: Dataset
    """The columns that the collator reads: ``text``, or two texts."""
    texts: Sequence[str]
    """The sentences; of rows of two texts, the first ones."""
    collator: ViewCollator
    loss: ContrastiveLoss

    def rebuild(self, recipe: Recipe | None = None, fit: Path | None = None) -> Setup:
        """Use the same model and text with the collator and the loss of another recipe or fit."""
        recipe = recipe or self.recipe
        collator = build_collator(recipe, self.model, fit)
        loss = build_loss(recipe, self.model, self.texts, fit)
        return replace(self, recipe=recipe, collator=collator, loss=loss)

    def columns(self, rows: list[dict[str, Any]]) -> list[Features]:
        """The tokenized views of some rows, as the trainer passes them to the loss."""
        return columns_of(self.collator(rows), self.model.device)


def build(recipe: Recipe, dataset: Dataset, fit: Path | None = None) -> Setup:
    """Build everything that a run needs.

    Args:
        recipe: all settings.
        dataset: the training sentences.
        fit: the folder that :func:`fit_once` wrote.
    """
    rows, texts = training_rows(recipe, dataset), texts_of(dataset)
    check_batches(recipe, len(rows), "sentences" if len(rows) == len(texts) else "pairs")
    model = build_model(recipe)
    collator, loss = build_collator(recipe, model, fit), build_loss(recipe, model, texts, fit)
    _describe_truncation(recipe, model, texts[:SAMPLE])
    return Setup(recipe, model, rows, texts, collator, loss)


def build_model(recipe: Recipe) -> SentenceTransformer:
    """The base of a recipe with its training modules, determined by the seed."""
    set_seed(recipe.seed)
    method = get_method(recipe.method)
    base = resolve_base(recipe.base)
    model = method.encoder(recipe, base)
    if recipe.sif_whitening and pooling_of(model) != "mean":
        raise UserError(f"sif_whitening needs mean pooling, which the base {base} does not have.")
    views = build_views(recipe)
    templates = _templates(recipe, views)
    if recipe.dropout is not None:
        set_dropout(model, recipe.dropout)
    if recipe.train_layers is not None:
        train_last_layers(model, recipe.train_layers)
    if method.views_are_the_same(recipe, views) and not has_dropout(model):
        raise UserError(
            f"the base {base} has no dropout, so the two views of a sentence would be the same. Set "
            "dropout=0.1, or positives=crop."
        )
    if not templates and recipe.max_length > model.max_seq_length:
        raise UserError(
            f"max_length = {recipe.max_length} is more than the {model.max_seq_length} tokens that "
            f"the base {base} can read. Lower max_length."
        )
    plain_cls = pooling_of(model) == "cls" and not is_sentence_transformer(base)
    if recipe.head if recipe.head is not None else plain_cls or templates:
        add_training_head(model)
    if recipe.templates and recipe.denoising != "none":
        add_denoising(model, base, templates, dropout=recipe.denoising == "dropout")
    if recipe.masked_lm_weight:
        add_masked_lm_head(model, base)
    if model.device.type == "cpu":
        use_fast_dropout(model)
    # A template's embedding is at its mask, and the masked-LM objective reads every position.
    if not recipe.templates and not recipe.masked_lm_weight:
        train_first_position_only(model)
    model.model_card_data.generate_widget_examples = False  # they would be the user's sentences
    return model


def build_views(recipe: Recipe, fit: Path | None = None) -> tuple[View, ...]:
    """The views of a row: those of the method and those of its parts.

    Args:
        recipe: all settings.
        fit: the folder that :func:`fit_once` wrote.
    """
    views = get_method(recipe.method).views(recipe)
    for settings in part_settings(recipe):
        views = settings.more_views(recipe, views, fit)
    return views


def _templates(recipe: Recipe, views: Sequence[View]) -> list[Template]:
    """The templates of all views, the model's own one first."""
    own = [recipe.templates[0]] if recipe.templates else []
    return list(dict.fromkeys([*own, *(each for view in views for each in view.templates)]))


def build_collator(
    recipe: Recipe, model: SentenceTransformer, fit: Path | None = None
) -> ViewCollator:
    """The collator. It tokenizes as in later use of the model, with the default prompt, or puts each view in its
    template."""
    views = build_views(recipe, fit)
    preprocess: Callable[..., dict[str, Any]] = model.preprocess
    if templates := _templates(recipe, views):
        tokenizer = load_tokenizer(recipe.base)
        preprocess = TemplatedViews(tokenizer, templates, model.max_seq_length)
    return ViewCollator(
        preprocess_fn=preprocess,
        prompts=default_prompt(model) or None,
        max_length=min(recipe.max_length, model.max_seq_length or recipe.max_length),
        views=views,
        max_tokens=model.max_seq_length,
        seed=recipe.seed,
    )


def build_loss(
    recipe: Recipe, model: SentenceTransformer, texts: Sequence[str], fit: Path | None = None
) -> ContrastiveLoss:
    """The loss of a recipe's method, on the device of the model.

    Args:
        recipe: all settings.
        model: the model to train.
        texts: the corpus.
        fit: the folder that :func:`fit_once` wrote.
    """
    views = build_views(recipe, fit)
    mini_batch = recipe.mini_batch_size
    if mini_batch is None and model.device == torch.device("cpu"):
        mini_batch = CPU_MINI_BATCH
    masked_lm = None
    if recipe.masked_lm_weight:
        masked_lm = MaskedLanguageModelling(model.tokenizer, recipe.masked_lm_probability)
    with model.truncate_embeddings(
        None
    ):  # a model that truncates its embeddings is trained in all dimensions
        context = build_context(recipe, model, texts, fit)
        loss = ContrastiveLoss(
            model,
            parts=[settings.make_part(context) for settings in part_settings(recipe)],
            temperature=recipe.temperature,
            views=sum(view.preprocess is None for view in views),
            auxiliary_columns=sum(view.preprocess is not None for view in views),
            mini_batch_size=mini_batch,
            gradient_cache=recipe.gradient_cache,
            masked_lm=masked_lm,
            masked_lm_weight=recipe.masked_lm_weight,
        )
    return loss.to(model.device)


def build_context(
    recipe: Recipe, model: SentenceTransformer, texts: Sequence[str], folder: Path | None = None
) -> Context:
    """The inputs of parts and fits."""

    def embed(sentences: Sequence[str], progress: bool = False) -> Tensor:
        """Training embeddings of sentences, computed like the anchors of a batch."""
        collator, found = build_collator(recipe, model, folder), []
        collator.views = collator.views[:1]
        was_training = model.training
        model.eval()
        order = by_length(sentences, longest_first=True)
        with (
            torch.no_grad(), training_modules_active(model), preserve_rng_state(model.device)
        ):  # fmt: skip
            for batch in in_batches(order, CPU_MINI_BATCH, "Embedding", progress):
                rows = [{"text": sentences[row]} for row in batch]
                anchors = dict(columns_of(collator(rows), model.device)[0])
                found.append(model(anchors)["sentence_embedding"])
        model.train(was_training)
        return torch.cat(found)[torch.tensor(order).argsort().to(model.device)]

    return Context(recipe, model, texts, embed, folder)


def has_fit(recipe: Recipe) -> bool:
    """Whether any part needs a fit before training."""
    return any(type(each).fit is not PartSettings.fit for each in part_settings(recipe))


def fit_once(
    recipe: Recipe,
    model: SentenceTransformer,
    texts: Sequence[str],
    folder: Path,
    *,
    quiet: bool = False,
) -> None:
    """Run the fits of the parts, once; they write to ``folder``."""
    recover_folder(folder)
    if folder.exists():
        return
    with atomic_folder(folder) as temporary, model.truncate_embeddings(None):
        context = replace(build_context(recipe, model, texts, temporary), quiet=quiet)
        for settings in part_settings(recipe):
            settings.fit(context)


def training_rows(recipe: Recipe, dataset: Dataset) -> Dataset:
    """The columns that the collator reads: ``text``, or two texts. Others would become model inputs."""
    if recipe.positives in PAIRED and "text" in dataset.column_names:
        return document_pairs(dataset, recipe.positives)
    return dataset.select_columns([n for n in ("text", *PAIR) if n in dataset.column_names])


def texts_of(dataset: Dataset) -> Sequence[str]:
    """The sentences of a dataset; of rows of two texts, the first ones."""
    return dataset["text" if "text" in dataset.column_names else PAIR[0]]


def check_batches(recipe: Recipe, rows: int, unit: str = "sentences") -> None:
    """Refuse a corpus that does not fill a batch, or a batch that the processes cannot share."""
    if not get_method(recipe.method).trains:
        return
    if rows < recipe.batch_size:
        raise UserError(
            f"the corpus has {rows} {unit} for training, fewer than batch_size = "
            f"{recipe.batch_size}. Lower batch_size, or add text."
        )
    if recipe.batch_size % processes().num_processes:
        raise UserError(
            f"batch_size = {recipe.batch_size} cannot be split over {processes().num_processes} "
            "processes. Choose a multiple of their number."
        )


def _describe_truncation(recipe: Recipe, model: SentenceTransformer, sample: Sequence[str]) -> None:
    """Report the share of sentences that are longer than ``max_length``, from a sample."""
    # In a template, the sentence's tokens are counted without the special tokens.
    tokenizer = load_tokenizer(recipe.base) if recipe.templates else tokenizer_of(model)
    texts = [default_prompt(model) + text for text in sample]
    tokens = tokenizer(texts, add_special_tokens=not recipe.templates)["input_ids"]
    cut = sum(len(ids) > recipe.max_length for ids in tokens) / len(sample)
    log(
        f"{cut:.1%} of the sentences are longer than max_length = {recipe.max_length} tokens and are truncated."
    )
