"""The Sentence Transformers trainer, with the state and the diagnostics of our losses."""

from __future__ import annotations

from pathlib import Path

import torch
from sentence_transformers import SentenceTransformerTrainer
from torch import Tensor

from clusterns.errors import UserError
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.training.checkpoints import save_loss
from clusterns.training.processes import averaged


class NotFiniteError(UserError):
    """The loss or a weight is no longer a number."""


class ContrastiveTrainer(SentenceTransformerTrainer):
    """Adds to the library's trainer: the loss's own state in each checkpoint, the paper's
    diagnostics in each log line, and a stop where the numbers have stopped being numbers."""

    loss: ContrastiveLoss

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
        tensors: list[Tensor] = [*self.model.parameters(), *self.loss.parts.values()]
        # One wait for the device, not one for each tensor.
        if not torch.stack([torch.isfinite(tensor).all() for tensor in tensors]).all():
            raise NotFiniteError(
                f"the loss is not a number any more at step {self.state.global_step}. Nothing of it "
                "was saved; the last good checkpoint is kept. Try a lower learning_rate, a higher "
                "temperature, a warm-up, or precision=fp32."
            )
