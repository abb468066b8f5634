"""SimCSE: two views of each sentence, the other sentences of the batch as negatives."""

from __future__ import annotations

from typing import Any

import torch
from sentence_transformers import SentenceTransformer

from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.masked_lm import MaskedLanguageModelling
from clusterns.methods.settings import ContrastiveSettings

# More rows at once than this gain nothing on a CPU, and pad more.
CPU_MINI_BATCH = 64


def frame(model: SentenceTransformer, settings: ContrastiveSettings) -> dict[str, Any]:
    """The settings of :class:`ContrastiveLoss` that every method shares."""
    mini_batch = settings.mini_batch_size
    if mini_batch is None and model.device == torch.device("cpu"):
        mini_batch = CPU_MINI_BATCH
    masked_lm = None
    if settings.masked_lm_weight:
        masked_lm = MaskedLanguageModelling(model.tokenizer, settings.masked_lm_probability)
    return {
        "temperature": settings.temperature,
        "mini_batch_size": mini_batch,
        "gradient_cache": settings.gradient_cache,
        "masked_lm": masked_lm,
        "masked_lm_weight": settings.masked_lm_weight,
    }


def simcse(model: SentenceTransformer, settings: ContrastiveSettings) -> ContrastiveLoss:
    """The loss of SimCSE."""
    return ContrastiveLoss(model, **frame(model, settings))
