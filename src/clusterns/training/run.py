"""One run: a recipe and rows of text in, a run folder with a better model out."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from datasets import Dataset
from sentence_transformers.base.evaluation import BaseEvaluator
from transformers import (
    EarlyStoppingCallback,
    PrinterCallback,
    ProgressCallback,
    set_seed,
)

from clusterns.console import log
from clusterns.errors import Interrupted, UserError
from clusterns.files import wrap_os_errors
from clusterns.locks import locked
from clusterns.methods.registry import get_method
from clusterns.training.begin import open_run, score_base, training_arguments
from clusterns.training.build import (
    build_collator,
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
)
from clusterns.training.checkpoints import (
    is_over,
    last_checkpoint,
    load_loss,
    trainer_state,
)
from clusterns.training.finish import RunResult as RunResult
from clusterns.training.finish import finish
from clusterns.training.fitted import fit_once, has_fit, make_model
from clusterns.training.folder import RunFolder
from clusterns.training.memory import check_memory, estimate_memory, memory_errors
from clusterns.training.processes import check_launcher, first_process_does, processes
from clusterns.training.recipe import Recipe
from clusterns.training.sampler import Order
from clusterns.training.trainer import ContrastiveTrainer


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
    """Train on ``dataset`` (column ``text``) and keep the last step, or the one that ``evaluator`` scores best.

    Args:
        recipe: all settings.
        dataset: the training sentences.
        evaluator: scores a model by its ``primary_metric``.
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
        return make_model(recipe, dataset, evaluator, folder, resume, corpus, quiet)
    arguments = training_arguments(recipe, folder, metric)
    model = build_model(recipe)
    fitted = folder.fit if resume and folder.fit.is_dir() else None
    collator = build_collator(recipe, model, fitted)
    rows, texts = training_rows(recipe, dataset), texts_of(dataset)
    check_batches(recipe, len(rows), "sentences" if len(rows) == len(texts) else "pairs")
    loss = build_loss(recipe, model, texts, fitted)
    memory = estimate_memory(recipe, model, loss, collator, texts)
    first_process_does(lambda: check_memory(recipe, memory, model.device))
    first_process_does(lambda: open_run(folder, recipe, corpus, metric, resume))
    first_process_does(lambda: score_base(model, evaluator, folder))
    if has_fit(recipe) and fitted is None:
        first_process_does(lambda: fit_once(recipe, model, texts, folder.fit, quiet=quiet))
        collator = build_collator(recipe, model, folder.fit)
        loss = build_loss(recipe, model, texts, folder.fit)
    checkpoint = last_checkpoint(folder.checkpoints) if resume else None
    if checkpoint is not None:
        load_loss(loss, checkpoint)
        log(f"Going on from {checkpoint.name}.")

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
    if recipe.patience and not recipe.keeps_last_step:
        trainer.add_callback(EarlyStoppingCallback(recipe.patience))
    if not quiet:
        trainer.add_callback(Progress(metric))
    state = trainer_state(checkpoint) if checkpoint is not None else None
    patience = 0 if recipe.keeps_last_step else recipe.patience
    if state is None or not is_over(state, patience):
        with wrap_os_errors(folder.path), memory_errors(recipe), interrupt:
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        state = trainer.state
    if interrupt.asked:
        raise Interrupted(f"stopped at step {state.global_step}, which is saved")
    return finish(recipe, model, loss, state, evaluator, folder)


def check_batches(recipe: Recipe, rows: int, unit: str = "sentences") -> None:
    """Refuse a corpus that does not fill a batch, or a batch that the processes cannot share."""
    if not get_method(recipe.method).trains:
        return
    if rows < recipe.batch_size:
        raise UserError(
            f"the corpus has {rows} {unit} for training, fewer than batch_size = "
            f"{recipe.batch_size}: lower batch_size or add text."
        )
    if recipe.batch_size % processes().num_processes:
        raise UserError(
            f"batch_size = {recipe.batch_size} cannot be shared by {processes().num_processes} "
            "processes."
        )
