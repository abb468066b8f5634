"""Masked language modeling as an auxiliary objective."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.utils.checkpoint import checkpoint
from transformers import DataCollatorForLanguageModeling, PreTrainedTokenizerBase

from clusterns.encoder.training_modules import NOT_MASKED
from clusterns.losses.distributed import get_world_size, total
from clusterns.losses.features import mini_batches


class MaskedLanguageModelling:
    """Masked-LM loss of a separate, masked copy of tokenized sentences.

    The model must carry a masked-LM head (``clusterns.encoder.add_masked_lm_head``).

    Args:
        tokenizer: the model's tokenizer.
        probability: share of the tokens to mask.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, probability: float = 0.15) -> None:
        self.probability = probability
        self._collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=probability)

    def __call__(
        self,
        model: Any,
        features: Mapping[str, Any],
        mini_batch_size: int | None = None,
        *,
        recompute: bool = False,
    ) -> Tensor:
        """Mean loss (scalar) over the masked tokens. The mean of the processes' values is the mean over
        all of their masked tokens.

        Args:
            model: the model, which may be wrapped for data parallelism.
            features: the tokenized sentences.
            mini_batch_size: rows that are passed through the model at once. None: all.
            recompute: keep no activations; the backward pass runs each mini-batch again, with the
                same dropout masks.
        """
        rows = self.masked(features)
        masked_tokens = total((rows["masked_lm_labels"] != NOT_MASKED).sum()).clamp(min=1)
        losses = [
            checkpoint(summed_loss, model, part, use_reentrant=False)
            if recompute
            else summed_loss(model, part)
            for part in mini_batches(rows, mini_batch_size or len(rows["input_ids"]))
        ]
        return sum(losses[1:], losses[0]) * get_world_size() / masked_tokens

    def masked(self, features: Mapping[str, Any]) -> dict[str, Any]:
        """A masked copy of the tokenized sentences, with its labels."""
        original: Tensor = features["input_ids"]
        # The library masks on the CPU. Masks are sampled here rather than in the collator, so that they depend
        # on the random state of the training step, which a checkpoint restores.
        masked, labels = self._collator.torch_mask_tokens(original.cpu().clone())
        # Columns of different lengths are padded with 0, which some vocabularies use for a word.
        labels[features["attention_mask"].cpu() == 0] = NOT_MASKED
        return {
            **features,
            "input_ids": masked.to(original.device),
            "masked_lm_labels": labels.to(original.device),
        }


def summed_loss(model: Any, rows: Mapping[str, Any]) -> Tensor:
    """The masked-LM losses of all masked tokens of ``rows`` (scalar)."""
    masked_tokens = (rows["masked_lm_labels"] != NOT_MASKED).sum()
    return model({**rows})["masked_lm_loss"] * masked_tokens
