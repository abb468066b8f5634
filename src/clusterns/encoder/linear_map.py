"""A linear map behind the vectors of a sentence encoder, as one built-in layer."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize

from clusterns.encoder.base import with_modules

Matrix = NDArray[np.float64]


def mapped(
    model: SentenceTransformer, matrix: Matrix, *, normalise: bool = False
) -> SentenceTransformer:
    """A model with vectors ``x @ matrix`` in place of x, on the modules of ``model``, which stays as it is.

    The layer stands before a last normalisation: the direction is the same, and the length stays 1.

    Args:
        model: any sentence encoder with vectors of d numbers.
        matrix: (d, d).
        normalise: whether vectors are to have length 1 although ``model`` does not end in Normalize.
    """
    weight = torch.from_numpy(matrix.T).float().contiguous()
    # The library's own default activation is tanh.
    layer = Dense(*matrix.shape, bias=False, activation_function=None, init_weight=weight)
    *modules, last = model
    if isinstance(last, Normalize):
        behind = [layer, last]
    else:
        behind = [last, layer, *([Normalize()] if normalise else [])]
    return with_modules(model, [*modules, *behind])


def map_of(model: SentenceTransformer) -> tuple[Matrix, bool]:
    """The matrix of a model that :func:`mapped` made, and whether it ends in Normalize."""
    *_, before, last = model
    normalised = isinstance(last, Normalize)
    layer = before if normalised else last
    assert isinstance(layer, Dense)
    return layer.linear.weight.detach().cpu().double().numpy().T, normalised
