"""A short SimCSE run inside another one: the judge of a method that needs a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusterns.methods.method import Context


def short_simcse(context: Context, steps: int, path: Path) -> None:
    """Train a copy of the model with plain SimCSE for some steps and save it to ``path``.

    It reads as many sentences as the steps need, drawn from the whole corpus. Its positives are dropout masks,
    so an encoder without dropout gets it back here.
    """
    import tempfile
    from copy import deepcopy

    import torch
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from transformers import PrinterCallback, ProgressCallback

    from clusterns.console import bar, log
    from clusterns.data.split import select_texts
    from clusterns.encoder.speed import has_dropout, set_dropout
    from clusterns.encoder.training_modules import preserve_rng_state, without_training_modules
    from clusterns.files import atomic_folder
    from clusterns.losses.contrastive import ContrastiveLoss

    class Bar(ProgressCallback):
        """The library's bar without its lines, which would go where answers go."""

        def on_train_begin(self, args: Any, state: Any, *rest: Any, **kwargs: Any) -> None:
            self.training_bar = bar(total=state.max_steps, desc="SimCSE", unit="step")
            self.current_step = 0

        def on_log(self, *args: Any, **kwargs: Any) -> None:
            pass

    recipe = context.recipe
    count = min(len(context.texts), steps * recipe.batch_size)
    log(f"No judge is named: SimCSE is trained first, {steps} steps of {recipe.batch_size}.")
    model = deepcopy(context.model)
    if not has_dropout(model):
        set_dropout(model, 0.1)
    drawn = torch.randperm(
        len(context.texts), generator=torch.Generator().manual_seed(recipe.seed)
    )[:count]
    rows = Dataset.from_dict({"text": select_texts(context.texts, sorted(drawn.tolist()))})
    with tempfile.TemporaryDirectory() as scratch, preserve_rng_state(model.device):
        args = SentenceTransformerTrainingArguments(
            output_dir=scratch,
            max_steps=steps,
            per_device_train_batch_size=recipe.batch_size,
            learning_rate=recipe.learning_rate,
            # A process computes in one precision: the run that follows could not change it.
            bf16=recipe.precision == "bf16",
            fp16=recipe.precision == "fp16",
            dataloader_drop_last=True,
            save_strategy="no",
            report_to="none",
            log_level="error",
            seed=recipe.seed,
            use_cpu=not torch.accelerator.is_available(),
        )
        args.max_length = recipe.max_length  # the library's collator looks for it there
        loss = ContrastiveLoss(model, recipe.temperature, mini_batch_size=recipe.mini_batch_size)
        trainer = SentenceTransformerTrainer(model, args, train_dataset=rows, loss=loss)
        trainer.remove_callback(PrinterCallback)
        trainer.remove_callback(ProgressCallback)
        if not context.quiet:
            trainer.add_callback(Bar)
        trainer.train()
    with atomic_folder(path) as temporary:
        without_training_modules(model).save_pretrained(str(temporary))
