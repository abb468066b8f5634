"""One run: a recipe and rows of text in, a run folder with a better model out."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from sentence_transformers.base.evaluation import BaseEvaluator
from transformers import (
    EarlyStoppingCallback,
    PrinterCallback,
    ProgressCallback,
    set_seed,
)
from transformers.integrations import get_available_reporting_integrations

from clusterns.console import say
from clusterns.encoder.base import resolve_base
from clusterns.errors import UserError
from clusterns.files import disk_errors
from clusterns.locks import locked
from clusterns.methods.registry import get_method
from clusterns.training.build import (
    build_collator,
    build_context,
    build_loss,
    build_model,
    texts_of,
    training_rows,
)
from clusterns.training.callbacks import (
    Epochs,
    Events,
    Guard,
    Interrupt,
    Metrics,
    Progress,
    Validation,
    write_metrics,
)
from clusterns.training.checkpoints import (
    is_over,
    last_checkpoint,
    load_loss,
    remove_half_written,
    trainer_state,
)
from clusterns.training.finish import RunResult as RunResult
from clusterns.training.finish import finish, save
from clusterns.training.fitted import fit_once, has_fit
from clusterns.training.folder import RunFolder
from clusterns.training.memory import check_memory, estimate_memory, memory_errors
from clusterns.training.processes import check_launcher, first_process_does, processes
from clusterns.training.recipe import Recipe
from clusterns.training.sampler import Order
from clusterns.training.trainer import ContrastiveTrainer


class Interrupted(Exception):  # noqa: N818 - not an error
    """The user asked the run to stop; it was saved."""


def train(
    recipe: Recipe,
    dataset: Dataset,
    evaluator: BaseEvaluator,
    folder: RunFolder,
    *,
    resume: bool = False,
    corpus: dict[str, Any] | None = None,
    quiet: bool = False,
) -> RunResult:
    """Train on ``dataset`` (column ``text``) and keep the model that ``evaluator`` scores best.

    Args:
        recipe: all settings.
        dataset: the training sentences.
        evaluator: gives the score of a model; its ``primary_metric`` decides.
        folder: the run folder, checked.
        resume: go on from the last whole checkpoint.
        corpus: facts about the corpus for the record; ``fingerprint`` identifies the text.
        quiet: no progress bar.
    """
    corpus = {"fingerprint": "", **(corpus or {})}
    # All that can be wrong with the settings is found out before anything is written.
    check_launcher()
    check_batches(recipe, len(dataset))
    with ExitStack() as held:
        first_process_does(lambda: held.enter_context(locked(folder.path)))
        return _train(recipe, dataset, evaluator, folder, resume, corpus, quiet)


def _train(
    recipe: Recipe,
    dataset: Dataset,
    evaluator: BaseEvaluator,
    folder: RunFolder,
    resume: bool,
    corpus: dict[str, Any],
    quiet: bool,
) -> RunResult:
    metric = f"eval_{evaluator.primary_metric}"
    method = get_method(recipe.method)
    if not method.trains:
        return _make(recipe, dataset, evaluator, folder, resume, corpus, quiet)
    arguments = _arguments(recipe, folder, metric)
    model = build_model(recipe)
    collator = build_collator(recipe, model)
    rows, texts = training_rows(recipe, dataset), texts_of(dataset)
    loss = build_loss(recipe, model, texts)
    memory = estimate_memory(recipe, model, loss, collator, texts)
    first_process_does(lambda: check_memory(recipe, memory, model.device))
    first_process_does(lambda: _open(folder, recipe, corpus, metric, resume))
    first_process_does(lambda: _score_base(model, evaluator, folder))
    if has_fit(recipe):
        first_process_does(lambda: fit_once(recipe, model, texts, folder.fit))
        collator = build_collator(recipe, model, folder.fit)
        loss = build_loss(recipe, model, texts, folder.fit)
    checkpoint = last_checkpoint(folder.checkpoints) if resume else None
    if checkpoint is not None:
        load_loss(loss, checkpoint)
        say(f"Going on from {checkpoint.name}.")

    interrupt = Interrupt()
    # A card that has examples gets none from the trainer: they would be sentences of the user's.
    model.model_card_data.widget = [{"text": ""}]
    trainer = ContrastiveTrainer(
        model=model,
        args=arguments,
        train_dataset=rows,
        loss=loss,
        evaluator=evaluator,
        data_collator=collator,
        callbacks=[
            Metrics(folder.metrics_file),
            Validation(folder.record["base_score"]),
            Order(),
            interrupt,
        ],
    )
    model.model_card_data.widget = []
    # The trainer seeds all processes alike; each draws dropout masks of its own.
    set_seed((recipe.seed + processes().process_index) % 2**32)
    trainer.remove_callback(PrinterCallback)
    trainer.remove_callback(ProgressCallback)
    trainer.add_callback(Guard(trainer))
    trainer.add_callback(Events(trainer))
    trainer.add_callback(Epochs(trainer))
    patience = recipe.patience if method.keeps_best else 0
    if patience:
        trainer.add_callback(EarlyStoppingCallback(patience))
    if not quiet:
        trainer.add_callback(Progress(metric))
    state = trainer_state(checkpoint) if checkpoint is not None else None
    if state is None or not is_over(state, patience):
        with disk_errors(folder.path), memory_errors(recipe), interrupt:
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        state = trainer.state
    if interrupt.asked:
        raise Interrupted(f"stopped at step {state.global_step}, which is saved")
    return finish(recipe, model, loss, state, evaluator, folder)


def _make(
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
    set_seed(recipe.seed)
    base = resolve_base(recipe.base)
    model = method.encoder(recipe, base)
    # Before the folder is written: what a fit refuses leaves nothing behind.
    made = method.make(replace(build_context(recipe, model, texts), quiet=quiet))
    if not made.model_card_data.model_name:
        made.model_card_data.model_name = f"{Path(base).name} with {method.title}"
    _open(folder, recipe, corpus, f"eval_{evaluator.primary_metric}", resume)
    _score_base(model, evaluator, folder)
    score = float(evaluator(made)[evaluator.primary_metric])
    before = folder.record["base_score"]
    result = RunResult(evaluator.primary_metric, before, score, best_step=0, steps=0)
    save(made, result, evaluator, folder)
    return result


def check_batches(recipe: Recipe, rows: int) -> None:
    """Refuse a corpus that does not fill a batch, or a batch that the processes cannot share."""
    if not get_method(recipe.method).trains:
        return
    if rows < recipe.batch_size:
        raise UserError(
            f"the corpus has {rows} sentences for training, fewer than batch_size = "
            f"{recipe.batch_size}: lower batch_size or add text."
        )
    if recipe.batch_size % processes().num_processes:
        raise UserError(
            f"batch_size = {recipe.batch_size} cannot be shared by {processes().num_processes} "
            "processes."
        )


def _open(
    folder: RunFolder, recipe: Recipe, corpus: dict[str, Any], metric: str, resume: bool
) -> None:
    """Begin a run, or make sure that it is the same one and clear what a kill left behind."""
    folder.check(resume)
    if resume:
        folder.check_same(recipe, corpus["fingerprint"], metric)
        remove_half_written(folder.checkpoints)
    else:
        folder.create(recipe, corpus)


def _score_base(model: SentenceTransformer, evaluator: BaseEvaluator, folder: RunFolder) -> None:
    """Validate step 0, once in the life of a run."""
    if "base_score" in folder.record:
        return
    scores = evaluator(model)
    score = scores[evaluator.primary_metric]
    folder.metrics_file.unlink(missing_ok=True)
    write_metrics(folder.metrics_file, 0, {f"eval_{k}": v for k, v in scores.items()})
    folder.note(metric=f"eval_{evaluator.primary_metric}", base_score=score)
    say(f"step 0: {evaluator.primary_metric} {score:.4f}  (the base)")


def _arguments(
    recipe: Recipe, folder: RunFolder, metric: str
) -> SentenceTransformerTrainingArguments:
    missing = set(recipe.report_to) - set(get_available_reporting_integrations())
    if missing:
        raise UserError(f"report_to: {min(missing)} is not installed or not known.")
    args = SentenceTransformerTrainingArguments(
        output_dir=str(folder.checkpoints),
        num_train_epochs=recipe.epochs,
        max_steps=recipe.max_steps or -1,
        learning_rate=recipe.learning_rate,
        warmup_steps=recipe.warmup_steps,
        weight_decay=recipe.weight_decay,
        max_grad_norm=recipe.max_grad_norm,
        bf16=recipe.precision == "bf16",
        fp16=recipe.precision == "fp16",
        seed=recipe.seed,
        use_cpu=not torch.accelerator.is_available(),
        dataloader_drop_last=True,
        dataloader_num_workers=recipe.workers,
        eval_strategy="steps",
        eval_steps=recipe.eval_steps,
        save_strategy="steps",
        save_steps=recipe.eval_steps,
        # The best and the last: with 1, the library drops the last one at the end.
        save_total_limit=2,
        metric_for_best_model=metric,
        greater_is_better=True,
        restore_callback_states_from_checkpoint=True,
        logging_steps=recipe.log_steps,
        logging_nan_inf_filter=False,
        log_level="error",
        report_to=list(recipe.report_to) or "none",
    )
    if args.n_gpu > 1:
        raise UserError(
            f"one process sees {args.n_gpu} GPUs: start one process for each of them, with "
            f"torchrun --nproc-per-node {args.n_gpu} -m clusterns train ..."
        )
    args.per_device_train_batch_size = recipe.batch_size // args.world_size
    return args
