"""A short training as a step of a larger task: without checkpoints or validation."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any

from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from torch import nn
from transformers import PrinterCallback, ProgressCallback, TrainerState

from clusterns.console import bar


class Progress(ProgressCallback):
    """The library's progress bar without the lines that it prints to stdout."""

    def __init__(self, description: str) -> None:
        super().__init__()
        self.description = description

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Show the bar."""
        self.training_bar = bar(total=state.max_steps, desc=self.description, unit="step")
        self.current_step = 0

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Show the loss next to the bar."""
        if "loss" in (logs or {}):
            self.training_bar.set_postfix(loss=f"{logs['loss']:.3f}")


def train_briefly(
    model: SentenceTransformer,
    rows: Dataset,
    loss: nn.Module,
    *,
    description: str,
    quiet: bool,
    max_length: int | None = None,
    **arguments: Any,
) -> None:
    """Train ``model`` in place.

    Args:
        model: the model.
        rows: the columns that the loss compares.
        loss: the loss.
        description: label of the progress bar.
        quiet: hide the progress bar.
        max_length: maximum number of tokens per text. None: the model's own.
        **arguments: arguments of :class:`SentenceTransformerTrainingArguments`: max_steps, learning_rate, ...
    """
    # With examples set, the trainer does not add the user's sentences to the model card.
    model.model_card_data.widget = [{"text": ""}]
    with TemporaryDirectory() as folder:
        args = SentenceTransformerTrainingArguments(
            output_dir=folder,
            dataloader_drop_last=True,
            save_strategy="no",
            logging_steps=50,
            report_to="none",
            log_level="error",
            **arguments,
        )
        if max_length is not None:
            args.max_length = max_length  # the library's collator reads it from here
        trainer = SentenceTransformerTrainer(model, args, train_dataset=rows, loss=loss)
        trainer.remove_callback(PrinterCallback)
        trainer.remove_callback(ProgressCallback)
        if not quiet:
            trainer.add_callback(Progress(description))
        trainer.train()
