"""Encoders as they are: the states of one token, or averages over tokens and layers.

All of it is built from modules of Sentence Transformers, so that a saved one opens anywhere.
"""

from __future__ import annotations

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Module, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling, WeightedLayerPooling

from clusterns.encoder.base import load_base
from clusterns.encoder.settings import Average
from clusterns.errors import UserError

# The layers whose states are averaged; 0 is the static embeddings, 1 the first layer's output. The
# "average of BERT" in tables of results is embedding-last-avg, that of whitening first-last-avg.
LAYERS = {"first-last-avg": (1, -1), "embedding-last-avg": (0, -1), "embedding-avg": (0,)}


def averaged_encoder(name: str | None, average: Average) -> SentenceTransformer:
    """A base as it is, its states averaged; of a SentenceTransformer the encoder alone is taken.

    Args:
        name: see :func:`clusterns.encoder.base.resolve_base`.
        average: cls and lasttoken: one token's last state; mean and max: over the tokens' last
            states; the others: the mean over tokens and layers (``LAYERS``).
    """
    # Weights that a checkpoint lacks (BERT's pooler, which is not used here) are drawn at random.
    with torch.random.fork_rng():
        torch.manual_seed(0)
        encoder = load_base(name)[0]
    if not isinstance(encoder, Transformer):
        raise UserError(
            f"base {name} begins with a {type(encoder).__name__}, whose states cannot be averaged: "
            "name a Transformers encoder."
        )
    return SentenceTransformer(modules=[encoder, *averaging(encoder, average)])


def averaging(encoder: Transformer, average: str) -> list[Module]:
    """The modules behind ``encoder`` that make one vector of its states."""
    dimension = encoder.get_embedding_dimension()
    layers = LAYERS.get(average)
    if layers is None:
        return [Pooling(dimension, average)]
    config = encoder.model.config
    config.output_hidden_states = True
    weights = torch.zeros(config.num_hidden_layers + 1)
    weights[list(layers)] = 1
    pooling = WeightedLayerPooling(
        dimension,
        config.num_hidden_layers,
        layer_start=0,
        layer_weights=torch.nn.Parameter(weights),
    )
    return [pooling, Pooling(dimension, "mean")]
