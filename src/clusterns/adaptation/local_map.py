"""A map of embeddings that acts only near a text: fitted exactly, saved as built-in layers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from torch import nn

from clusterns.adaptation.settings import AdaptSettings
from clusterns.encoder.load import with_modules
from clusterns.vectors.nearest import Vectors

# Rows whose activations are in memory at once.
BLOCK = 4096


@dataclass(frozen=True)
class LocalMap:
    """``x + relu(x landmarks^T - threshold) changes``, for unit vectors x.

    A vector whose cosine with every landmark is below the threshold does not move.
    """

    landmarks: Vectors
    """(k, d) unit vectors of the text."""
    changes: Vectors
    """(k, d) shift for each landmark."""
    threshold: float
    """Cosine above which a landmark acts."""

    def __call__(self, vectors: Vectors) -> Vectors:
        """Map (n, d) unit vectors; the result is not normalized."""
        return vectors + self.activations(vectors) @ self.changes

    def activations(self, vectors: Vectors) -> Vectors:
        """How far the cosine with each landmark exceeds the threshold: (n, k)."""
        return np.maximum(vectors @ self.landmarks.T - self.threshold, 0)

    def interpolate(self, weight: float) -> LocalMap:
        """The map that moves vectors by this fraction of the change."""
        return replace(self, changes=weight * self.changes)


def fit_map(
    vectors: Vectors,
    targets: Vectors,
    general: Vectors,
    landmarks: Vectors,
    settings: AdaptSettings,
) -> LocalMap:
    """Fit the map that takes each x to its target and keeps general text in place, by ridge regression.

    With M the map and C its changes, it minimizes
    ``mean |M(x) - t|^2 + general_weight mean |M(g) - g|^2 + ridge |C|^2``, exactly. (scikit-learn's Ridge
    would need all (n, k) activations at once.)

    Args:
        vectors: (n, d) unit vectors x.
        targets: (n, d) targets t.
        general: (m, d) unit vectors g of general text; may be empty if its weight is 0.
        landmarks: (k, d) unit vectors.
        settings: the threshold, the weight of the general text and the ridge penalty.
    """
    local = LocalMap(landmarks, np.zeros_like(landmarks), settings.threshold)
    normal = settings.ridge * np.eye(len(landmarks))
    moment = np.zeros((len(landmarks), vectors.shape[1]))
    for start in range(0, len(vectors), BLOCK):
        rows = slice(start, start + BLOCK)
        active = local.activations(vectors[rows]).astype(np.float64)
        normal += active.T @ active / len(vectors)
        moment += active.T @ (targets[rows] - vectors[rows]) / len(vectors)
    if settings.general_weight:
        active = local.activations(general).astype(np.float64)
        normal += settings.general_weight / len(general) * active.T @ active
    changes = np.linalg.solve(normal, moment)
    return replace(local, changes=changes.astype(landmarks.dtype))


def append_map(model: SentenceTransformer, local: LocalMap) -> SentenceTransformer:
    """A model whose embeddings are mapped and normalized. It shares the modules of ``model``, which stays as it is."""
    landmarks, changes = (
        torch.from_numpy(np.asarray(each, np.float32)) for each in (local.landmarks, local.changes)
    )
    identity = torch.eye(landmarks.shape[1])
    # The vector itself passes through as relu(x) - relu(-x).
    near = Dense(
        landmarks.shape[1],
        len(landmarks) + 2 * len(identity),
        activation_function=nn.ReLU(),
        init_weight=torch.cat([landmarks, identity, -identity]),
        init_bias=torch.cat(
            [torch.full((len(landmarks),), -local.threshold), torch.zeros(2 * len(identity))]
        ),
    )
    # The library's default activation is tanh.
    moved = Dense(
        near.out_features,
        len(identity),
        bias=False,
        activation_function=None,
        init_weight=torch.cat([changes, identity, -identity]).T.contiguous(),
    )
    modules = [*model]
    unit = modules.pop() if isinstance(modules[-1], Normalize) else Normalize()
    return with_modules(model, [*modules, unit, near, moved, Normalize()])
