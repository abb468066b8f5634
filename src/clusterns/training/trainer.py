"""The Sentence Transformers trainer, with the state and the diagnostics of this package's losses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from torch import Tensor
from transformers.integrations import get_available_reporting_integrations
from transformers.trainer_utils import TrainOutput, get_last_checkpoint

from clusterns.errors import UserError
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.training.checkpoints import load_loss, save_loss
from clusterns.training.folder import RunFolder
from clusterns.training.processes import averaged
from clusterns.training.recipe import Recipe


class NotFiniteError(UserError):
    """The loss or a weight is NaN or infinite."""


class ContrastiveTrainer(SentenceTransformerTrainer):
    """Saves and restores the loss's own state (centroids, queues) with each checkpoint, and logs the
    paper's diagnostics with each training loss.

    Use it in place of ``SentenceTransformerTrainer`` with any loss of this package. Otherwise, a
    resumed run starts with an empty loss.
    """

    loss: ContrastiveLoss

    def train(
        self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any
    ) -> TrainOutput:
        """Train, or resume with the state of the loss."""
        if resume_from_checkpoint is True:
            resume_from_checkpoint = get_last_checkpoint(self.args.output_dir)
        if resume_from_checkpoint:
            load_loss(self.loss, Path(str(resume_from_checkpoint)))
        return super().train(resume_from_checkpoint, *args, **kwargs)

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save model and loss, before older checkpoints are removed."""
        super().save_model(output_dir, _internal_call)
        if output_dir is not None and self.args.should_save:
            save_loss(self.loss, Path(output_dir))

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the diagnostics to lines with a training loss."""
        if "loss" in logs:
            logs = {**logs, **averaged(self.loss.diagnostics())}
        super().log(logs, start_time)

    def check_finite(self) -> None:
        """Stop before NaN or infinite values are validated or saved."""
        tensors: list[Tensor] = [*self.model.parameters(), *self.loss.components.values()]
        # One synchronization with the device, not one for each tensor.
        if not torch.stack([torch.isfinite(tensor).all() for tensor in tensors]).all():
            raise NotFiniteError(
                f"the loss or a weight is not a finite number at step {self.state.global_step}. This "
                "step was not saved; the last good checkpoint is kept. Try a lower learning_rate, a higher "
                "temperature, warm-up steps, or precision=fp32."
            )


def training_arguments(
    recipe: Recipe, folder: RunFolder, metric: str
) -> SentenceTransformerTrainingArguments:
    """The trainer's arguments."""
    missing = set(recipe.report_to) - set(get_available_reporting_integrations())
    if missing:
        raise UserError(f"report_to: {min(missing)} is unknown or not installed.")
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
        save_total_limit=2,  # the best and the last: with 1, the library drops the last one at the end
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
            f"one process sees {args.n_gpu} GPUs. Start one process per GPU: "
            f"torchrun --nproc-per-node {args.n_gpu} -m clusterns train ..."
        )
    args.per_device_train_batch_size = recipe.batch_size // args.world_size
    return args
