"""Modules that exist only during training: SimCSE's tanh head and the masked-LM head."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Module
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from clusterns.console import log
from clusterns.encoder.load import MODEL_KWARGS, with_modules
from clusterns.encoder.locate import fetch_revision
from clusterns.encoder.speed import train_every_position
from clusterns.errors import UserError

# The library's label of a token that is not masked.
NOT_MASKED = -100


class TrainingModule:
    """Base class of modules that exist only during training.

    They are modules of the model, not of the loss, so that the trainer wraps, clips and checkpoints
    their weights like any others. In eval mode they are the identity, and the saved model does not
    contain them.
    """

    training: bool  # of the module
    always_on = False

    @property
    def is_on(self) -> bool:
        """Whether the module is active rather than the identity."""
        return self.training or self.always_on


@contextmanager
def training_modules_active(model: SentenceTransformer) -> Iterator[None]:
    """Within the block, compute training embeddings (after the head) in eval mode, too."""
    modules = [module for module in model if isinstance(module, TrainingModule)]
    for module in modules:
        module.always_on = True
    try:
        yield
    finally:
        for module in modules:
            module.always_on = False


def preserve_rng_state(device: torch.device) -> AbstractContextManager[None]:
    """Restore the random states of the CPU and of ``device`` after the block."""
    if device.type == "cpu":
        return torch.random.fork_rng(devices=[])
    index = torch.accelerator.current_device_index() if device.index is None else device.index
    return torch.random.fork_rng(devices=[index], device_type=device.type)


def without_training_modules(model: SentenceTransformer) -> SentenceTransformer:
    """The model to save: the same modules without the heads, all of them built in."""
    train_every_position(model)
    modules = [module for module in model if not isinstance(module, TrainingModule)]
    return with_modules(model, modules, model_card_data=model.model_card_data)


class TrainingHead(TrainingModule, Dense):
    """SimCSE's head tanh(W h + b) after the pooling, with a (d, d) weight."""

    def forward(self, features: dict[str, Tensor | Any]) -> dict[str, Tensor | Any]:
        """Apply the head during training; otherwise, leave the embedding unchanged."""
        return super().forward(features) if self.is_on else features


def add_training_head(model: SentenceTransformer) -> None:
    """Append a new head to ``model``."""
    with model.truncate_embeddings(None):  # trained at full dimension, truncated at use
        width = model.get_embedding_dimension()
    assert width is not None
    model.append(TrainingHead(width, width).to(model.device))


class MaskedLMHead(TrainingModule, Module):
    """The part of a masked-LM model above its encoder, for any family of encoders.

    Given features with ``masked_lm_labels``, it adds ``masked_lm_loss``; others pass through. The
    library's own masked-LM class runs on the hidden states that the encoder has already computed,
    so each family keeps its own head. A decoder tied to the word embeddings stays tied by reference
    and is not a weight of this module.
    """

    def __init__(self, masked_lm: PreTrainedModel, embeddings: nn.Embedding | None = None) -> None:
        super().__init__()
        setattr(masked_lm, masked_lm.base_model_prefix, _ComputedStates())
        decoder = masked_lm.get_output_embeddings()
        if masked_lm.config.tie_word_embeddings:
            masked_lm.set_output_embeddings(_TiedDecoder(decoder.bias, embeddings))
        self.masked_lm = masked_lm

    def forward(self, features: dict[str, Tensor | Any], **kwargs: Any) -> dict[str, Tensor | Any]:
        """Add the mean masked-LM loss where there are labels; 0 where no token is masked."""
        if "masked_lm_labels" in features:
            # A head treats positions independently, so only the masked positions go through it, as one
            # row. Logits of all positions would need more memory than the encoder.
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


class _ComputedStates(nn.Module):
    """Replaces the encoder and returns its precomputed states."""

    hidden_states: Tensor | None = None

    def forward(self, *args: Any, **kwargs: Any) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=self.hidden_states)


class _TiedDecoder(nn.Module):
    """Linear layer over the vocabulary that shares the weight of the encoder's word embeddings."""

    def __init__(self, bias: nn.Parameter | None, embeddings: nn.Embedding | None) -> None:
        super().__init__()
        self.bias = bias
        # In a tuple, so that the encoder's weights are not registered twice.
        self._embeddings = (embeddings,)

    def forward(self, hidden: Tensor) -> Tensor:
        (embeddings,) = self._embeddings
        assert embeddings is not None
        return F.linear(hidden, embeddings.weight, self.bias)


def add_masked_lm_head(model: SentenceTransformer, base: str) -> None:
    """Append the masked-LM head of the pretrained model ``base`` to ``model``, which uses its encoder."""
    try:
        masked_lm, loading = AutoModelForMaskedLM.from_pretrained(
            fetch_revision(base), **MODEL_KWARGS, output_loading_info=True
        )
    except (OSError, ValueError) as error:
        raise UserError(
            f"masked_lm_weight: the base {base} has no masked language model. Set it to 0."
        ) from error
    encoder = masked_lm.base_model_prefix + "."
    if [key for key in loading["missing_keys"] if not key.startswith(encoder)]:
        log(f"{base} has no masked-LM head. Training starts from a random head.")
    transformer = model.transformers_model
    assert transformer is not None
    words = transformer.get_input_embeddings().num_embeddings
    if masked_lm.config.vocab_size != words:  # learned tokens of a template
        masked_lm.resize_token_embeddings(words)
    model.append(MaskedLMHead(masked_lm, transformer.get_input_embeddings()).to(model.device))
