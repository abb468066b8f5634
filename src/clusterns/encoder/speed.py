"""Faster training with equivalent results: cheap dropout, a one-position last layer, sorted batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import Tensor, nn

from clusterns.console import bar

LEVELS = 2**16
# Families with BERT's layer; other families share its names, but normalize or rotate differently.
FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert", "electra")


class FastDropout(nn.Dropout):
    """Dropout with cheap masks on a CPU: four 16-bit draws from 64 random bits.

    PyTorch draws one number per element on one core. The probability is rounded to the nearest
    1/65,536; kept elements are scaled by the rounded probability, so the mean is preserved exactly.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Zero each element with probability ``p`` during training, and scale the others."""
        dropped = round(self.p * LEVELS)
        if not self.training or dropped in (0, LEVELS) or input.device.type != "cpu":
            return super().forward(input)
        bits = torch.empty((input.numel() + 3) // 4, dtype=torch.int64)
        draws = bits.random_(-(2**63), None).view(torch.int16)[: input.numel()].view(input.shape)
        keep = (draws >= dropped - LEVELS // 2).to(input.dtype)
        return input * keep.mul_(LEVELS / (LEVELS - dropped))


def use_fast_dropout(model: SentenceTransformer) -> None:
    """Replace the dropout modules of ``model``; the saved model does not change."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.Dropout:
                setattr(module, name, FastDropout(child.p).train(child.training))


def set_dropout(model: SentenceTransformer, probability: float) -> None:
    """Change the dropout of a loaded model, but not its saved configuration."""
    for module in model.modules():
        set_own_dropout(module, probability)


def set_own_dropout(module: nn.Module, probability: float) -> None:
    """Change the dropout of one module, but not of the modules in it."""
    if isinstance(module, nn.Dropout):
        module.p = probability
    for name in _rates(module):
        setattr(module, name, probability)


def has_dropout(model: SentenceTransformer) -> bool:
    """Whether two passes over the same sentence differ during training."""
    return any(
        (isinstance(module, nn.Dropout) and module.p > 0) or any(_rates(module).values())
        for module in model.modules()
    )


def _rates(module: nn.Module) -> dict[str, float]:
    """The dropout rates that a module keeps as attributes."""
    values = vars(module).items()
    return {k: v for k, v in values if k.endswith("dropout") and isinstance(v, float)}


def train_first_position_only(model: SentenceTransformer) -> bool:
    """During training, compute only the first position of the last layer.

    CLS pooling reads only this position, so the other positions need only keys and values: a sixth of
    the layer's work. Eval mode is unchanged, as are models with another pooling or without BERT's layer.

    Returns:
        Whether the model has changed.
    """
    if not isinstance(model[0], Transformer) or model[0].model.config.model_type not in FAMILIES:
        return False
    # If the pooling excludes the prompt, the sentence starts later.
    pooling = model[1]
    takes_first = (
        isinstance(pooling, Pooling) and pooling.pooling_mode == "cls" and pooling.include_prompt
    )
    layer = model[0].model.encoder.layer[-1]
    if not takes_first or model.tokenizer.padding_side != "right" or layer.is_decoder:
        return False
    layer.forward = partial(_first_position, layer, layer.forward)
    return True


def train_every_position(model: SentenceTransformer) -> None:
    """Undo :func:`train_first_position_only`."""
    for module in model[0].modules():
        forward = vars(module).get("forward")
        if isinstance(forward, partial) and forward.func is _first_position:
            del module.forward


def _first_position(
    layer: Any,
    all_positions: Any,
    hidden_states: Tensor,
    attention_mask: Any = None,
    *args: Any,
    **kw: Any,
) -> Tensor:
    """The layer's output (n, 1, d) for its input (n, length, d)."""
    if not layer.training or (attention_mask is not None and attention_mask.ndim != 4):
        return all_positions(hidden_states, attention_mask, *args, **kw)
    attend, first = layer.attention.self, hidden_states[:, :1]

    def heads(states: Tensor) -> Tensor:
        return states.unflatten(-1, (attend.num_attention_heads, -1)).transpose(1, 2)

    mixed = F.scaled_dot_product_attention(
        heads(attend.query(first)),
        heads(attend.key(hidden_states)),
        heads(attend.value(hidden_states)),
        attn_mask=None if attention_mask is None else attention_mask[..., :1, :],
        dropout_p=attend.dropout.p,
        scale=attend.scaling,
    )
    attended = layer.attention.output(mixed.transpose(1, 2).flatten(2), first)
    return layer.output(layer.intermediate(attended), attended)


def in_batches(
    rows: Sequence[int], size: int, title: str, progress: bool
) -> Iterator[Sequence[int]]:
    """Yield ``rows`` in batches of ``size``, with a progress bar."""
    with bar(total=len(rows), desc=title, unit=" texts", shown=progress) as shown:
        for start in range(0, len(rows), size):
            batch = rows[start : start + size]
            yield batch
            shown.update(len(batch))


def by_length(texts: Sequence[str], longest_first: bool = False) -> list[int]:
    """Row numbers of ``texts``, sorted by length so that batches need little padding."""
    sign = -1 if longest_first else 1
    return sorted(range(len(texts)), key=lambda row: sign * len(texts[row]))
