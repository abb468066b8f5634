"""A masked-LM head as a train-only module of a SentenceTransformer, for any family of encoders."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Module
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from clusterns.console import log
from clusterns.encoder.training_only import TrainingOnly
from clusterns.errors import UserError

# The library's label of a token that is not masked.
NOT_MASKED = -100


class MaskedLMHead(TrainingOnly, Module):
    """The part of a masked-LM model that lies above its encoder.

    Given features that carry ``masked_lm_labels``, it adds ``masked_lm_loss``; others pass through.
    The library's own masked-LM class runs, over the hidden states that the encoder has already
    computed, so every family keeps its own head. A decoder tied to the word embeddings stays tied
    by reference and is not a weight of this module.
    """

    def __init__(self, masked_lm: PreTrainedModel, embeddings: nn.Embedding | None = None) -> None:
        super().__init__()
        setattr(masked_lm, masked_lm.base_model_prefix, _Computed())
        decoder = masked_lm.get_output_embeddings()
        if masked_lm.config.tie_word_embeddings:
            masked_lm.set_output_embeddings(_TiedDecoder(decoder.bias, embeddings))
        self.masked_lm = masked_lm

    def forward(self, features: dict[str, Tensor | Any], **kwargs: Any) -> dict[str, Tensor | Any]:
        """Add the mean masked-LM loss where labels are given; 0 where no token is masked."""
        if "masked_lm_labels" in features:
            # A head looks at each position on its own: only the masked ones go through it, in one
            # row. Logits of all positions would take more memory than the encoder.
            masked = features["masked_lm_labels"] != NOT_MASKED
            labels = features["masked_lm_labels"][masked]
            encoder = getattr(self.masked_lm, self.masked_lm.base_model_prefix)
            encoder.hidden_states = features["token_embeddings"][masked][None]
            logits = self.masked_lm(input_ids=features["input_ids"][masked][None]).logits[0]
            encoder.hidden_states = None
            losses = F.cross_entropy(logits, labels, reduction="sum")
            features["masked_lm_loss"] = losses / max(len(labels), 1)
        return features

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Save the head's own weights and the configuration that rebuilds it."""
        self.masked_lm.config.save_pretrained(output_path)
        self.save_torch_weights(output_path)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any) -> MaskedLMHead:
        """Rebuild the head from a checkpoint of a training run."""
        config = AutoConfig.from_pretrained(model_name_or_path, subfolder=subfolder)
        head = cls(AutoModelForMaskedLM.from_config(config))
        return cls.load_torch_weights(model_name_or_path, subfolder=subfolder, model=head)


class _Computed(nn.Module):
    """Stands where the encoder was, and returns what it has computed."""

    hidden_states: Tensor | None = None

    def forward(self, *args: Any, **kwargs: Any) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=self.hidden_states)


class _TiedDecoder(nn.Module):
    """Linear layer over the vocabulary whose weight belongs to the encoder's word embeddings."""

    def __init__(self, bias: nn.Parameter | None, embeddings: nn.Embedding | None) -> None:
        super().__init__()
        self.bias = bias
        # In a tuple, so that the encoder's weights are not registered here a second time.
        self._embeddings = (embeddings,)

    def forward(self, hidden: Tensor) -> Tensor:
        (embeddings,) = self._embeddings
        assert embeddings is not None
        return F.linear(hidden, embeddings.weight, self.bias)


def add_masked_lm_head(model: SentenceTransformer, base: str) -> None:
    """Append the masked-LM head of the pretrained model ``base`` to ``model``, which encodes it."""
    try:
        masked_lm, loading = AutoModelForMaskedLM.from_pretrained(
            base, dtype=torch.float32, output_loading_info=True
        )
    except (OSError, ValueError) as error:
        raise UserError(
            f"masked_lm_weight: the base {base} cannot be a masked language model. Set it to 0."
        ) from error
    encoder = masked_lm.base_model_prefix + "."
    if [key for key in loading["missing_keys"] if not key.startswith(encoder)]:
        log(f"{base} has no masked-LM head of its own: it starts from random weights.")
    transformer = model.transformers_model
    assert transformer is not None
    words = transformer.get_input_embeddings().num_embeddings
    if masked_lm.config.vocab_size != words:  # learned tokens of a template
        masked_lm.resize_token_embeddings(words)
    model.append(MaskedLMHead(masked_lm, transformer.get_input_embeddings()).to(model.device))
