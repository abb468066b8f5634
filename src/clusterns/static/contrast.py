"""A contrast between a line and what follows it: the table learns from pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import MultipleNegativesSymmetricRankingLoss
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.functional import embedding_bag
from transformers import PrinterCallback, ProgressCallback, TrainerState

from clusterns.console import bar
from clusterns.static.vectors import Table

# A weight moves by a share of itself, a vector's number by a part of its length.
WEIGHTS_RATE = 2.5
WARMUP_STEPS = 20


class WeightedEmbedding(StaticEmbedding):
    """A table whose token weights are trained as well, as logarithms."""

    def __init__(self, tokenizer: Tokenizer, table: Table) -> None:
        super().__init__(tokenizer, torch.from_numpy(table.vectors.copy()))
        weights = torch.from_numpy(table.weights)
        self.log_weights = nn.Parameter(weights.clamp(min=1e-9).log())
        self.register_buffer("used", (weights > 0).float(), persistent=False)

    def weights(self) -> Tensor:
        """(v,) the token weights."""
        return self.log_weights.exp() * self.used

    def forward(self, features: dict[str, Tensor], **kwargs: Any) -> dict[str, Tensor]:
        """The weighted sums of the pieces of each text."""
        ids = features["input_ids"]
        features["sentence_embedding"] = embedding_bag(
            ids,
            self.embedding.weight,
            features["offsets"],
            mode="sum",
            per_sample_weights=self.weights()[ids],
        )
        return features

    def table(self) -> Table:
        """What was learned."""
        vectors = self.embedding.weight.detach().numpy()
        return Table(vectors, self.weights().detach().numpy())


class Progress(ProgressCallback):
    """The library's progress bar in our style, without its line of statistics."""

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Show the bar."""
        self.training_bar = bar(total=state.max_steps, desc="Contrast", unit="step")
        self.current_step = 0

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Show the loss beside the bar."""
        if "loss" in (logs or {}):
            self.training_bar.set_postfix(loss=f"{logs['loss']:.3f}")


def contrast(
    tokenizer: Tokenizer,
    table: Table,
    pairs: Dataset,
    *,
    steps: int,
    batch_size: int,
    temperature: float,
    learning_rate: float,
    seed: int,
    folder: Path,
    quiet: bool,
) -> Table:
    """Train the table with symmetric InfoNCE between ``anchor`` and ``positive``.

    Args:
        tokenizer: gives the word pieces.
        table: vectors and weights to begin with.
        pairs: rows ``anchor`` and ``positive``.
        steps: number of steps.
        batch_size: pairs per step; the others of a batch are the negatives.
        temperature: temperature of the contrast.
        learning_rate: of the vectors; that of the log weights is ``WEIGHTS_RATE`` times as high.
        seed: random seed.
        folder: for the trainer's files.
        quiet: no progress bar.
    """
    embedding = WeightedEmbedding(tokenizer, table)
    model = SentenceTransformer(modules=[embedding, Normalize()], device="cpu")
    # A card that has examples gets none from the trainer: they would be sentences of the user's.
    model.model_card_data.widget = [{"text": ""}]
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        max_steps=steps,
        per_device_train_batch_size=batch_size,
        learning_rate=learning_rate,
        learning_rate_mapping={"log_weights": WEIGHTS_RATE * learning_rate},
        warmup_steps=WARMUP_STEPS,
        dataloader_drop_last=True,
        seed=seed,
        use_cpu=True,
        save_strategy="no",
        eval_strategy="no",
        logging_steps=50,
        report_to="none",
        log_level="error",
        disable_tqdm=quiet,
    )
    trainer = SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=pairs,
        loss=MultipleNegativesSymmetricRankingLoss(model, scale=1 / temperature),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.remove_callback(ProgressCallback)
    if not quiet:
        trainer.add_callback(Progress)
    trainer.train()
    return embedding.table()
