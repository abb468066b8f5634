"""The Sentence Transformers trainer, with the state and the diagnostics of our losses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformerTrainer
from torch import Tensor
from transformers.trainer_utils import TrainOutput, get_last_checkpoint

from clusterns.errors import UserError
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.training.checkpoints import load_loss, save_loss
from clusterns.training.processes import averaged


class NotFiniteError(UserError):
    """The loss or a weight is no longer a number."""


class ContrastiveTrainer(SentenceTransformerTrainer):
    """Adds to the library's trainer: the loss's own state (centroids, queues) in each checkpoint,
    and back from it; and the paper's diagnostics in each log line.

    Use it in the place of ``SentenceTransformerTrainer``, with any loss of this package: with that
    one, a resumed run begins with an empty loss.
    """

    loss: ContrastiveLoss

    def train(
        self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any
    ) -> TrainOutput:
        """Train; a resume gives the loss its state back as well."""
        if resume_from_checkpoint is True:
            resume_from_checkpoint = get_last_checkpoint(self.args.output_dir)
        if resume_from_checkpoint:
            load_loss(self.loss, Path(str(resume_from_checkpoint)))
        return super().train(resume_from_checkpoint, *args, **kwargs)

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save model and loss; runs before older checkpoints are removed."""
        super().save_model(output_dir, _internal_call)
        if output_dir is not None and self.args.should_save:
            save_loss(self.loss, Path(output_dir))

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the diagnostics to the lines that carry a training loss."""
        if "loss" in logs:
            logs = {**logs, **averaged(self.loss.diagnostics())}
        super().log(logs, start_time)

    def check_finite(self) -> None:
        """Stop before anything that is not a number is validated or saved."""
        tensors: list[Tensor] = [*self.model.parameters(), *self.loss.components.values()]
        # One wait for the device, not one for each tensor.
        if not torch.stack([torch.isfinite(tensor).all() for tensor in tensors]).all():
            raise NotFiniteError(
                f"the loss is not a number any more at step {self.state.global_step}. Nothing of it "
                "was saved; the last good checkpoint is kept. Try a lower learning_rate, a higher "
                "temperature, a warm-up, or precision=fp32."
            )
