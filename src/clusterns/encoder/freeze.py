"""Train only the last layers of an encoder; freeze the other layers and the embeddings."""

from __future__ import annotations

from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from torch import nn

from clusterns.encoder.speed import set_own_dropout
from clusterns.errors import UserError


def layers_of(model: SentenceTransformer) -> nn.ModuleList | None:
    """The transformer layers of a model, from first to last.

    None if they cannot be found: in a model of word vectors, or if layers share their weights.
    """
    if not isinstance(model[0], Transformer):
        return None
    encoder = model[0].model
    count = getattr(encoder.config, "num_hidden_layers", None)
    lists = [each for each in encoder.modules() if isinstance(each, nn.ModuleList)]
    found = [each for each in lists if len(each) == count]
    return found[0] if len(found) == 1 else None


def train_last_layers(model: SentenceTransformer, count: int) -> None:
    """Freeze the embeddings and all but the last ``count`` layers of ``model``, in place.

    The frozen part gets no gradient, stores no activations and runs without dropout, also during
    training. Modules after the layers (a final norm, dense layers, training heads) are trained.
    """
    layers = layers_of(model)
    if layers is None:
        raise UserError(
            f"train_layers = {count}: cannot find the layers of this base. Leave train_layers empty."
        )
    if count > len(layers):
        raise UserError(
            f"train_layers = {count} exceeds the {len(layers)} layers of the base. Choose a smaller number, "
            "or leave it empty to train all layers."
        )
    encoder = model[0].model
    children = list(encoder.children())
    contains = [any(module is layers for module in child.modules()) for child in children]
    parts = [*layers[len(layers) - count :], *children[contains.index(True) + 1 :]]
    trained = {id(module) for part in parts for module in part.modules()}
    for module in model[0].modules():
        if id(module) not in trained:
            set_own_dropout(module, 0.0)
            for parameter in module.parameters(recurse=False):
                parameter.requires_grad_(False)
