"""A map behind the vectors of a sentence encoder that acts near a text only, as built-in layers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from torch import nn

from clusterns.encoder.load import with_modules

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class LocalMap:
    """``x + relu(x landmarks^T - threshold) changes``, for vectors x of length 1.

    A vector that is no nearer to any landmark than the threshold stays exactly where it is.
    """

    landmarks: Vectors
    """(k, d) of length 1: where the text is."""
    changes: Vectors
    """(k, d): where each landmark pulls what is near it."""
    threshold: float
    """The cosine from which on a landmark pulls."""

    def __call__(self, vectors: Vectors) -> Vectors:
        """The (n, d) mapped vectors, of any length."""
        return vectors + self.nearness(vectors) @ self.changes

    def nearness(self, vectors: Vectors) -> Vectors:
        """(n, k): how far the cosine with each landmark is above the threshold."""
        return np.maximum(vectors @ self.landmarks.T - self.threshold, 0)

    def scaled(self, share: float) -> LocalMap:
        """The map that goes this share of the way."""
        return replace(self, changes=share * self.changes)


def mapped(model: SentenceTransformer, local: LocalMap) -> SentenceTransformer:
    """A model with the mapped vectors, of length 1, on the modules of ``model``, which stays as it is.

    Args:
        model: any sentence encoder with vectors of d numbers; the map sees them at length 1.
        local: a map of vectors of d numbers.
    """
    landmarks, changes = (
        torch.from_numpy(np.asarray(each, np.float32)) for each in (local.landmarks, local.changes)
    )
    one = torch.eye(landmarks.shape[1])
    # The vector itself comes through as relu(x) - relu(-x).
    near = Dense(
        landmarks.shape[1],
        len(landmarks) + 2 * len(one),
        activation_function=nn.ReLU(),
        init_weight=torch.cat([landmarks, one, -one]),
        init_bias=torch.cat(
            [torch.full((len(landmarks),), -local.threshold), torch.zeros(2 * len(one))]
        ),
    )
    # The library's own default activation is tanh.
    moved = Dense(
        near.out_features,
        len(one),
        bias=False,
        activation_function=None,
        init_weight=torch.cat([changes, one, -one]).T.contiguous(),
    )
    modules = [*model]
    unit = modules.pop() if isinstance(modules[-1], Normalize) else Normalize()
    return with_modules(model, [*modules, unit, near, moved, Normalize()])


def map_of(model: SentenceTransformer) -> LocalMap:
    """The map of a model that :func:`mapped` made."""
    *_, near, moved, _ = model
    assert isinstance(near, Dense)
    assert isinstance(moved, Dense)
    count = near.out_features - 2 * near.in_features
    return LocalMap(
        near.linear.weight.detach()[:count].cpu().numpy(),
        moved.linear.weight.detach()[:, :count].T.cpu().numpy(),
        -float(near.linear.bias.detach()[0]),
    )
