"""Contrastive training of the table on pairs of related texts."""

from __future__ import annotations

from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import MultipleNegativesSymmetricRankingLoss
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from clusterns.encoder.short_training import train_briefly
from clusterns.static.settings import StaticSettings
from clusterns.static.vectors import Table

# The log weights have a learning rate this many times higher than the vectors.
WEIGHTS_RATE = 2.5
WARMUP_STEPS = 20


class WeightedEmbedding(StaticEmbedding):
    """A static embedding that also trains its token weights, as logarithms."""

    def __init__(self, tokenizer: Tokenizer, table: Table) -> None:
        super().__init__(tokenizer, torch.from_numpy(table.vectors.copy()))
        weights = torch.from_numpy(table.weights)
        self.log_weights = nn.Parameter(weights.clamp(min=1e-9).log())
        self.register_buffer("used", (weights > 0).float(), persistent=False)

    def weights(self) -> Tensor:
        """(v,) the token weights."""
        return self.log_weights.exp() * self.used

    def forward(self, features: dict[str, Tensor], **kwargs: Any) -> dict[str, Tensor]:
        """Compute the weighted sum of the piece vectors of each text."""
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
        """The trained vectors and weights."""
        vectors = self.embedding.weight.detach().numpy()
        return Table(vectors, self.weights().detach().numpy())


def contrast(
    tokenizer: Tokenizer,
    table: Table,
    pairs: Dataset,
    settings: StaticSettings,
    *,
    steps: int,
    batch_size: int,
    seed: int,
    quiet: bool,
) -> Table:
    """Train the table with symmetric InfoNCE between ``anchor`` and ``positive``.

    Args:
        tokenizer: the tokenizer.
        table: initial vectors and weights.
        pairs: dataset with the columns ``anchor`` and ``positive``.
        settings: temperature and learning rate.
        steps: number of steps.
        batch_size: pairs per step; the others of a batch are the negatives.
        seed: random seed.
        quiet: whether to hide the progress bar.
    """
    embedding = WeightedEmbedding(tokenizer, table)
    model = SentenceTransformer(modules=[embedding, Normalize()], device="cpu")
    rate = settings.contrast_learning_rate
    train_briefly(
        model,
        pairs,
        MultipleNegativesSymmetricRankingLoss(model, scale=1 / settings.contrast_temperature),
        description="Contrast",
        quiet=quiet,
        max_steps=steps,
        per_device_train_batch_size=batch_size,
        learning_rate=rate,
        learning_rate_mapping={"log_weights": WEIGHTS_RATE * rate},
        warmup_steps=WARMUP_STEPS,
        seed=seed,
        use_cpu=True,
    )
    return embedding.table()
