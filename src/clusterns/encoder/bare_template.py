"""The bare template: a row of a prompt model without its sentence, every other token in its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from sentence_transformers.base.modules import Module
from torch import Tensor

from clusterns.views.prompting import TemplateTokens

Rows = tuple[dict[str, Tensor], Tensor]


def bare_states(
    encoder: Module, tokens: TemplateTokens, lengths: Tensor, *, shifted: bool
) -> Tensor:
    """Mask states of a template around sentences that nobody attends to, as (m, d).

    Args:
        encoder: the Transformer module of a SentenceTransformer.
        tokens: the template.
        lengths: (m,) numbers of tokens of the sentences.
        shifted: run the short rows (see :func:`can_shift`).
    """
    features, columns = (shifted_rows if shifted else hidden_rows)(encoder, tokens, lengths)
    states: Tensor = encoder(features)["token_embeddings"]
    return states[torch.arange(len(lengths), device=lengths.device), columns]


def shifted_rows(encoder: Module, tokens: TemplateTokens, lengths: Tensor) -> Rows:
    """Rows of the template alone; the position ids after the slot are shifted by the length."""
    places = _places(tokens, lengths)
    ids = lengths.new_tensor(tokens.ids).expand_as(places)
    features = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "position_ids": places + _first_position(encoder),
    }
    return features, torch.full_like(lengths, tokens.mask)


def hidden_rows(encoder: Module, tokens: TemplateTokens, lengths: Tensor) -> Rows:
    """Rows as long as with a sentence, which the attention mask hides: right for any encoder."""
    places = _places(tokens, lengths)
    ids = lengths.new_tensor(tokens.ids).expand_as(places)
    # The filler is not padding, which RoBERTa and its kin do not count among the positions.
    filler = ids.new_full((len(ids), len(tokens) + int(lengths.max())), tokens.ids[tokens.mask])
    features = {
        "input_ids": filler.scatter(1, places, ids),
        "attention_mask": torch.zeros_like(filler).scatter(1, places, 1),
    }
    return features, places[:, tokens.mask]


@torch.no_grad()
def can_shift(encoder: Module, tokens: TemplateTokens) -> bool:
    """Whether position ids are all that an encoder knows of positions: the short rows then equal
    the long ones. Not so where positions are relative, as MPNet's are."""
    lengths = torch.tensor([0, 5], device=next(encoder.parameters()).device)
    with dropout_off(encoder):
        short, long = (bare_states(encoder, tokens, lengths, shifted=s) for s in (True, False))
    return torch.allclose(short, long, rtol=1e-3, atol=1e-4)


@contextmanager
def dropout_off(encoder: Module) -> Iterator[None]:
    """Within the block, ``encoder`` draws no dropout masks; gradients flow as before."""
    was_training = encoder.training
    encoder.eval()
    try:
        yield
    finally:
        encoder.train(was_training)


def _places(tokens: TemplateTokens, lengths: Tensor) -> Tensor:
    """(m, template) place of each token of the template in a row with a sentence."""
    index = torch.arange(len(tokens), device=lengths.device)
    return index + lengths[:, None] * (index >= tokens.slot)


def _first_position(encoder: Module) -> int:
    """The first position id: RoBERTa and its kin count from behind that of the padding."""
    embeddings = getattr(encoder.model, "embeddings", None)
    table: Any = getattr(embeddings, "position_embeddings", None)
    return 0 if table is None or table.padding_idx is None else table.padding_idx + 1
