"""The layers of an encoder: the last ones are trained, the others and the embeddings frozen."""

from __future__ import annotations

from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from torch import nn

from clusterns.encoder.dropout import set_own_dropout
from clusterns.errors import UserError


def layers_of(model: SentenceTransformer) -> nn.ModuleList | None:
    """The transformer layers of a model, from the first to the last; None where it cannot be told
    which they are: in a model of word vectors, or where layers share their weights."""
    if not isinstance(model[0], Transformer):
        return None
    encoder = model[0].model
    count = getattr(encoder.config, "num_hidden_layers", None)
    lists = [each for each in encoder.modules() if isinstance(each, nn.ModuleList)]
    found = [each for each in lists if len(each) == count]
    return found[0] if len(found) == 1 else None


def train_last_layers(model: SentenceTransformer, count: int) -> None:
    """Freeze the embeddings and all layers of ``model`` but the last ``count``, in place.

    The frozen part gets no gradient, keeps no activations and, in training too, runs without
    dropout. What lies behind the layers (a last norm, dense layers, train-only heads) is trained.
    """
    layers = layers_of(model)
    if layers is None:
        raise UserError(
            f"train_layers = {count}: it cannot be told which are the layers of this base: leave "
            "train_layers empty."
        )
    if count > len(layers):
        raise UserError(
            f"train_layers = {count} is more than the {len(layers)} layers of the base: name fewer, "
            "or leave it empty to train all of it."
        )
    trained = {
        id(module)
        for part in (*layers[len(layers) - count :], *_behind(model[0].model, layers))
        for module in part.modules()
    }
    for module in model[0].modules():
        if id(module) not in trained:
            set_own_dropout(module, 0.0)
            for parameter in module.parameters(recurse=False):
                parameter.requires_grad_(False)


def _behind(encoder: nn.Module, layers: nn.ModuleList) -> list[nn.Module]:
    """The parts of an encoder behind the one that holds its layers."""
    children = list(encoder.children())
    holds = [any(module is layers for module in child.modules()) for child in children]
    return children[holds.index(True) + 1 :]
