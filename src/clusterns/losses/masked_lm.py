"""Masked language modelling as an auxiliary objective."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from transformers import DataCollatorForLanguageModeling, PreTrainedTokenizerBase


class MaskedLanguageModelling:
    """Masked-LM loss of a separate, masked copy of the anchors.

    The model must carry a masked-LM head (``clusterns.encoder.add_masked_lm_head``).

    Args:
        tokenizer: the model's tokenizer.
        probability: share of the tokens that are masked.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, probability: float = 0.15) -> None:
        self.probability = probability
        self._collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=probability)

    def __call__(self, model: Any, features: Mapping[str, Any]) -> Tensor:
        """Loss (scalar) on the tokenised sentences ``features``."""
        original: Tensor = features["input_ids"]
        # The library masks on the host; drawn here and not in the collator, the masks follow the
        # random state of the training step, which a checkpoint restores.
        masked, labels = self._collator.torch_mask_tokens(original.cpu().clone())
        output = model(
            {
                **features,
                "input_ids": masked.to(original.device),
                "masked_lm_labels": labels.to(original.device),
            }
        )
        return output["masked_lm_loss"]
