"""CLS pooling reads one position of the last layer, so training computes no other there.

Of that layer only the keys and values of all positions are needed: a sixth of its work.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import Tensor, nn

# Families whose layer is BERT's: others share its names, but normalise or rotate elsewhere.
FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert", "electra")


def train_first_position_only(model: SentenceTransformer) -> bool:
    """Let the last layer compute, in training, the first position alone; eval mode is untouched.

    For CLS pooling on encoders with BERT's layer; other models are left as they are.

    Returns:
        Whether the model is such a one.
    """
    if not isinstance(model[0], Transformer) or model[0].model.config.model_type not in FAMILIES:
        return False
    if not _takes_first_position(model[1]) or model.tokenizer.padding_side != "right":
        return False
    layer = model[0].model.encoder.layer[-1]
    if layer.is_decoder:
        return False
    layer.forward = partial(_forward, layer, layer.forward)
    return True


def train_every_position(model: SentenceTransformer) -> None:
    """Undo :func:`train_first_position_only`."""
    for module in model[0].modules():
        forward = vars(module).get("forward")
        if isinstance(forward, partial) and forward.func is _forward:
            del module.forward


def _takes_first_position(module: nn.Module) -> bool:
    # Without its prompt, a sentence begins later.
    return isinstance(module, Pooling) and module.pooling_mode == "cls" and module.include_prompt


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
