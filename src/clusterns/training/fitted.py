"""Fits: what a method computes once before it trains, or instead of it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator
from transformers import set_seed

from clusterns.data.documents import documents_of
from clusterns.encoder.locate import resolve_base
from clusterns.errors import UserError
from clusterns.files import atomic_folder, recover_folder
from clusterns.methods.method import Method
from clusterns.methods.recipe import Recipe
from clusterns.methods.registry import all_parts, get_method
from clusterns.record import make_record
from clusterns.training.begin import open_run, score_base
from clusterns.training.build import build_context, texts_of
from clusterns.training.finish import RunResult, save
from clusterns.training.folder import RunFolder
from clusterns.training.processes import processes


def has_fit(recipe: Recipe) -> bool:
    """Whether the method or one of its parts computes something before it trains."""
    own = type(get_method(recipe.method)).fit is not Method.fit
    return own or any(settings.fit is not Recipe.fit for settings in all_parts(recipe))


def fit_once(
    recipe: Recipe,
    model: SentenceTransformer,
    texts: Sequence[str],
    folder: Path,
    *,
    quiet: bool = False,
) -> None:
    """Let the method and its parts leave their files in ``folder``, whole; never a second time."""
    recover_folder(folder)
    if folder.exists():
        return
    with atomic_folder(folder) as temporary, model.truncate_embeddings(None):
        context = replace(build_context(recipe, model, texts, temporary), quiet=quiet)
        get_method(recipe.method).fit(context)
        for settings in all_parts(recipe):
            settings.fit(recipe, context)


def make_model(
    recipe: Recipe,
    dataset: Dataset,
    evaluator: BaseEvaluator,
    folder: RunFolder,
    resume: bool,
    corpus: dict[str, Any],
    quiet: bool,
) -> RunResult:
    """The run of a method that makes its model without training."""
    if processes().num_processes > 1:
        raise UserError(f"method {recipe.method} does not train: run it in one process.")
    method, texts = get_method(recipe.method), texts_of(dataset)
    folder.check(resume)
    metric = f"eval_{evaluator.primary_metric}"
    if resume:  # before the work
        folder.check_same(recipe, corpus["fingerprint"], metric)
    begun = make_record()["date"]
    set_seed(recipe.seed)
    base = resolve_base(recipe.base)
    model = method.encoder(recipe, base)
    # Else after the work: what a fit refuses leaves nothing behind.
    if method.keeps_steps:
        open_run(folder, recipe, corpus, metric, resume)
    context = build_context(recipe, model, texts, folder.fit)
    made = method.make(replace(context, documents=documents_of(dataset), quiet=quiet))
    if not made.model_card_data.model_name:
        made.model_card_data.model_name = f"{Path(base).name} with {method.title}"
    if not method.keeps_steps:
        open_run(folder, recipe, corpus, metric, resume)
    folder.note(date=begun)
    score_base(model, evaluator, folder)
    score = float(evaluator(made)[evaluator.primary_metric])
    before = folder.record["base_score"]
    result = RunResult(evaluator.primary_metric, before, score, best_step=0, steps=0)
    save(made, result, evaluator, folder)
    shutil.rmtree(folder.fit, ignore_errors=True)
    return result
