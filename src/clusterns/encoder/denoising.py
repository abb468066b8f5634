"""Template denoising (PromptBERT): subtract the template's own contribution to the mask state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Module
from torch import Tensor

from clusterns.encoder.load import first_position, load_tokenizer
from clusterns.encoder.training_modules import TrainingModule
from clusterns.views.prompting import TemplateTokens
from clusterns.views.template import Template

Rows = tuple[dict[str, Tensor], Tensor]


class Denoising(TrainingModule, Module):
    """During training, subtract the bare template's mask state from that of each row.

    The bare template is a row without its sentence, with every other token at the same position. It
    depends only on the sentence length, and runs once per length in the batch, with gradient. The
    module directly follows the encoder, where the attention mask is still the encoder's.

    Args:
        templates: the fields of each :class:`TemplateTokens` of the rows, the model's own template first.
        dropout: run the bare template with dropout; all rows of one length then share a dropout mask.
    """

    config_keys = ["templates", "dropout"]

    def __init__(self, templates: Sequence[dict[str, Any]], dropout: bool = False) -> None:
        super().__init__()
        self.templates = templates
        self.dropout = dropout
        self.tokens = [TemplateTokens(**{**each, "ids": tuple(each["ids"])}) for each in templates]
        # In a list, so that the encoder's weights are not registered twice.
        self._encoder: list[Module] = []
        self.shifted = False

    def on_model_ready(self, model: SentenceTransformer) -> None:
        """Store the encoder of the model that contains this module."""
        self._encoder = [model[0]]
        self.shifted = can_shift(model[0], self.tokens[0])

    def forward(self, features: dict[str, Tensor | Any]) -> dict[str, Tensor | Any]:
        """Subtract during training; pass the masked copy for masked LM through."""
        if not self.is_on or "masked_lm_labels" in features:
            return features
        (encoder,) = self._encoder
        lengths = features["attention_mask"].sum(1)
        states = features["token_embeddings"]
        for tokens, rows in self._rows_by_template(features):
            distinct, which = (lengths[rows] - len(tokens)).unique(return_inverse=True)
            with nullcontext() if self.dropout else dropout_off(encoder):
                bare = bare_states(encoder, tokens, distinct, shifted=self.shifted)[which]
            # One mask per row: a sentence cannot contain the mask token.
            columns = (features["input_ids"][rows] == tokens.ids[tokens.mask]).int().argmax(1)
            states = states.index_put((rows, columns), -bare.to(states.dtype), accumulate=True)
        features["token_embeddings"] = states
        return features

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Save the templates; there are no weights."""
        self.save_config(output_path)

    def _rows_by_template(
        self, features: dict[str, Tensor | Any]
    ) -> Iterable[tuple[TemplateTokens, Tensor]]:
        """Each template that occurs, with the indices of its rows."""
        # Rows from `encode` use the model's own template, which is the first.
        which = features.get("template", torch.zeros_like(features["input_ids"]))[:, 0]
        for index in which.unique().tolist():
            yield self.tokens[index], (which == index).nonzero().squeeze(1)


def add_denoising(
    model: SentenceTransformer,
    name: str | None,
    templates: Iterable[Template],
    *,
    dropout: bool = False,
) -> None:
    """Insert the denoising after the encoder of ``model``, a prompt encoder of the base ``name``.

    Args:
        model: the prompt encoder.
        name: its base.
        templates: templates of the training rows, the model's own first.
        dropout: run the bare template with dropout.
    """
    tokenizer = load_tokenizer(name)
    tokens = [asdict(TemplateTokens.of(template, tokenizer)) for template in templates]
    denoising = Denoising(tokens, dropout)
    denoising.on_model_ready(model)
    model.insert(1, denoising)


def bare_states(
    encoder: Module, tokens: TemplateTokens, lengths: Tensor, *, shifted: bool
) -> Tensor:
    """Mask states (m, d) of a template around sentences that nothing attends to.

    Args:
        encoder: the Transformer module of a SentenceTransformer.
        tokens: the template.
        lengths: (m,) lengths of the sentences in tokens.
        shifted: run the short rows (see :func:`can_shift`).
    """
    features, columns = (_shifted_rows if shifted else _hidden_rows)(encoder, tokens, lengths)
    states: Tensor = encoder(features)["token_embeddings"]
    return states[torch.arange(len(lengths), device=lengths.device), columns]


def _shifted_rows(encoder: Module, tokens: TemplateTokens, lengths: Tensor) -> Rows:
    """Rows of the template alone; position ids after the slot are shifted by the sentence length."""
    positions = _positions(tokens, lengths)
    ids = lengths.new_tensor(tokens.ids).expand_as(positions)
    features = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "position_ids": positions + first_position(encoder),
    }
    return features, torch.full_like(lengths, tokens.mask)


def _hidden_rows(encoder: Module, tokens: TemplateTokens, lengths: Tensor) -> Rows:
    """Rows of the length with a sentence, which the attention mask hides; correct for any encoder."""
    positions = _positions(tokens, lengths)
    ids = lengths.new_tensor(tokens.ids).expand_as(positions)
    # The filler is not padding: RoBERTa and similar encoders do not assign positions to padding.
    filler = ids.new_full((len(ids), len(tokens) + int(lengths.max())), tokens.ids[tokens.mask])
    features = {
        "input_ids": filler.scatter(1, positions, ids),
        "attention_mask": torch.zeros_like(filler).scatter(1, positions, 1),
    }
    return features, positions[:, tokens.mask]


def _positions(tokens: TemplateTokens, lengths: Tensor) -> Tensor:
    """(m, template) position of each token of the template in a row with a sentence."""
    index = torch.arange(len(tokens), device=lengths.device)
    return index + lengths[:, None] * (index >= tokens.slot)


@torch.no_grad()
def can_shift(encoder: Module, tokens: TemplateTokens) -> bool:
    """Whether positions come from position ids alone, so that short rows equal long ones.

    This is false for relative positions, as in MPNet.
    """
    lengths = torch.tensor([0, 5], device=next(encoder.parameters()).device)
    with dropout_off(encoder):
        short, long = (bare_states(encoder, tokens, lengths, shifted=s) for s in (True, False))
    return torch.allclose(short, long, rtol=1e-3, atol=1e-4)


@contextmanager
def dropout_off(encoder: Module) -> Iterator[None]:
    """Disable the dropout of ``encoder`` within the block; gradients still flow."""
    was_training = encoder.training
    encoder.eval()
    try:
        yield
    finally:
        encoder.train(was_training)
