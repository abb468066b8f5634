"""How a run begins: its folder, the score of the base, and the arguments of the trainer."""

from __future__ import annotations

from typing import Any

import torch
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from sentence_transformers.base.evaluation import BaseEvaluator
from transformers.integrations import get_available_reporting_integrations

from clusterns.console import log
from clusterns.errors import UserError
from clusterns.training.callbacks import write_metrics
from clusterns.training.checkpoints import remove_half_written
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import Recipe


def open_run(
    folder: RunFolder, recipe: Recipe, corpus: dict[str, Any], metric: str, resume: bool
) -> None:
    """Begin a run, or make sure that it is the same one and clear what a kill left behind."""
    folder.check(resume)
    if resume:
        folder.check_same(recipe, corpus["fingerprint"], metric)
        remove_half_written(folder.checkpoints)
    else:
        folder.create(recipe, corpus)


def score_base(model: SentenceTransformer, evaluator: BaseEvaluator, folder: RunFolder) -> None:
    """Validate step 0, once in the life of a run."""
    if "base_score" in folder.record:
        return
    scores = evaluator(model)
    score = scores[evaluator.primary_metric]
    folder.metrics_file.unlink(missing_ok=True)
    write_metrics(folder.metrics_file, 0, {f"eval_{k}": v for k, v in scores.items()})
    folder.note(metric=f"eval_{evaluator.primary_metric}", base_score=score)
    log(f"step 0: {evaluator.primary_metric} {score:.4f}  (the base)")


def training_arguments(
    recipe: Recipe, folder: RunFolder, metric: str
) -> SentenceTransformerTrainingArguments:
    """The library's settings of the loop."""
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
