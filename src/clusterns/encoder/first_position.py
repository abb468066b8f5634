"""CLS pooling reads one position of the last layer, so training computes no other there.

Of that layer only the keys and values of all positions are needed: a sixth of its work.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import Tensor, nn

PARTS = ("attention.self.query", "attention.output.dense", "intermediate.dense", "output.dense")


def train_first_position_only(model: SentenceTransformer) -> bool:
    """Let the last layer compute, in training, the first position alone; eval mode is untouched.

    For CLS pooling on encoders built like BERT (RoBERTa, ELECTRA, XLM-R, ...); other models are
    left as they are.

    Returns:
        Whether the model is such a one.
    """
    if not any(_takes_first_position(module) for module in model):
        return False
    if model.tokenizer.padding_side != "right":
        return False
    layers = getattr(getattr(model[0].model, "encoder", None), "layer", None)
    layer = layers[-1] if isinstance(layers, nn.ModuleList) and len(layers) else None
    if layer is None or getattr(layer, "is_decoder", True) or not _is_like_bert(layer):
        return False
    layer.forward = partial(_forward, layer, layer.forward)
    return True


def train_every_position(model: SentenceTransformer) -> None:
    """Undo :func:`train_first_position_only`."""
    for module in model[0].modules():
        if isinstance(vars(module).get("forward"), partial):
            del module.forward


def _takes_first_position(module: nn.Module) -> bool:
    # Without its prompt, a sentence begins later.
    return isinstance(module, Pooling) and module.pooling_mode == "cls" and module.include_prompt


def _is_like_bert(layer: nn.Module) -> bool:
    found = {name for name, _ in layer.named_modules()}
    return found.issuperset(PARTS)


def _forward(
    layer: Any, whole: Any, hidden_states: Tensor, attention_mask: Any = None, *args: Any, **kw: Any
) -> Tensor:
    """The layer's output (n, 1, d) for its input (n, length, d)."""
    if not layer.training or (attention_mask is not None and attention_mask.ndim != 4):
        return whole(hidden_states, attention_mask, *args, **kw)
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
