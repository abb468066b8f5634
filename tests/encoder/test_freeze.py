"""The last layers are trained, the others frozen."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer

from clusterns.encoder.freeze import layers_of, train_last_layers
from clusterns.encoder.load import load_base
from clusterns.errors import UserError

TEXTS = ["a river in the town", "the king likes music", "an engine of the harbour"]
BEHIND = ("pooler", "final_norm")


def states_below_and_vectors(model: SentenceTransformer) -> tuple[torch.Tensor, torch.Tensor]:
    """What enters the last layer, and what the model makes of it."""
    seen: list[torch.Tensor] = []
    handle = layers_of(model)[-1].register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    vectors = model(dict(model.preprocess(TEXTS)))["sentence_embedding"]
    handle.remove()
    return seen[0], vectors


def test_only_the_last_layer_learns_and_has_dropout(tiny_base: Path) -> None:
    model = load_base(str(tiny_base)).train()
    dropout = 0.1 if model[0].model.config.model_type != "modernbert" else 0.0
    below, vectors = states_below_and_vectors(model)
    again, _ = states_below_and_vectors(model)
    assert torch.equal(below, again) == (dropout == 0)
    assert below.requires_grad

    train_last_layers(model, 1)
    model.train()  # as the trainer does after each validation
    below, vectors = states_below_and_vectors(model)
    again, others = states_below_and_vectors(model)
    assert torch.equal(below, again)
    assert not below.requires_grad
    assert torch.equal(vectors, others) == (dropout == 0)
    vectors.sum().backward()
    learns = {name for name, p in model[0].model.named_parameters() if p.grad is not None}
    last = {name for name, _ in layers_of(model)[-1].named_parameters()}
    assert {name.rpartition("layer.1.")[2].rpartition("layers.1.")[2] for name in learns} >= last
    assert all(".1." in name or name.startswith(BEHIND) for name in learns)


def test_what_cannot_be_frozen_is_refused(tiny_bert: Path) -> None:
    with pytest.raises(UserError, match="train_layers = 3 exceeds the 2 layers"):
        train_last_layers(load_base(str(tiny_bert)), 3)
    shared = load_base(str(tiny_bert))
    shared[0].model.config.num_hidden_layers = 12  # as if they were run twelve times
    with pytest.raises(UserError, match="cannot find the layers"):
        train_last_layers(shared, 1)


def test_all_layers_without_the_embeddings(tiny_bert: Path) -> None:
    model = load_base(str(tiny_bert))
    train_last_layers(model, 2)
    frozen = [name for name, p in model[0].model.named_parameters() if not p.requires_grad]
    assert frozen
    assert all(name.startswith("embeddings.") for name in frozen)
