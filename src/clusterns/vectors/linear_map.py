"""The linear map that brings some vectors to their targets and leaves others where they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clusterns.vectors.nearest import Vectors


def fitted_map(
    vectors: Vectors,
    targets: Vectors,
    still: Vectors,
    *,
    weight: float = 0.5,
    ridge: float = 1e-3,
) -> NDArray[np.float64]:
    """The (d, d) matrix M for which ``x M`` is near the target of x, exactly, by least squares.

    It makes ``mean |x M - t|^2 + weight mean |g M - g|^2 + ridge |M - 1|^2`` as small as can be, over
    the vectors x with their targets t and the vectors g that are to stay.

    Args:
        vectors: (n, d) x.
        targets: (n, d) t.
        still: (m, d) g; none are needed where ``weight`` is 0.
        weight: of those that stay, against all that move.
        ridge: holds the map to the identity where neither says anything.
    """
    own, width = np.asarray(vectors, np.float64), vectors.shape[1]
    normal = own.T @ own / len(own) + ridge * np.eye(width)
    if weight and len(still):
        other = np.asarray(still, np.float64)
        normal += weight / len(other) * other.T @ other
    change = np.linalg.solve(normal, own.T @ (targets - own) / len(own))
    return np.asarray(np.eye(width) + change, np.float64)
