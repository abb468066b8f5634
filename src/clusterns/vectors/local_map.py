"""The local map that brings the vectors of a text to their targets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clusterns.encoder.local_map import LocalMap
from clusterns.vectors.nearest import Vectors

# Rows whose nearness to all landmarks is held at once.
BLOCK = 4096


def fitted_map(
    vectors: Vectors,
    targets: Vectors,
    still: Vectors,
    landmarks: Vectors,
    *,
    threshold: float,
    weight: float,
    ridge: float,
) -> LocalMap:
    """The map for which that of x is near the target of x, exactly, by least squares.

    With M the map and C its changes, it makes ``mean |M(x) - t|^2 + weight mean |M(g) - g|^2 + ridge |C|^2``
    as small as can be, over the vectors x with their targets t and the vectors g that are to stay.

    Args:
        vectors: (n, d) x, of length 1.
        targets: (n, d) t.
        still: (m, d) g, of length 1; none are needed where ``weight`` is 0.
        landmarks: (k, d) of length 1.
        threshold: the cosine from which on a landmark pulls.
        weight: of those that stay, against all that move.
        ridge: keeps the changes small where the texts say little.
    """
    local = LocalMap(landmarks, np.zeros_like(landmarks), threshold)
    normal = ridge * np.eye(len(landmarks))
    wanted = np.zeros((len(landmarks), vectors.shape[1]))
    for start in range(0, len(vectors), BLOCK):
        rows = slice(start, start + BLOCK)
        near = local.nearness(vectors[rows]).astype(np.float64)
        normal += near.T @ near / len(vectors)
        wanted += near.T @ (targets[rows] - vectors[rows]) / len(vectors)
    if weight and len(still):
        near = local.nearness(still).astype(np.float64)
        normal += weight / len(still) * near.T @ near
    changes = np.linalg.solve(normal, wanted)
    return replace(local, changes=changes.astype(landmarks.dtype))
