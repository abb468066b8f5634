"""Vectors in fewer bits, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterns.vectors.manifest import Manifest

STEPS = 255  # of Sentence Transformers' eight bits


def decoded(stored: NDArray[Any], manifest: Manifest) -> NDArray[np.float32]:
    """The (n, d) floats that stored vectors stand for.

    Eight bits become the middle of their step, one bit becomes -1 or 1.
    """
    precision, ranges = manifest.settings.precision, manifest.ranges
    if precision == "float32":
        return np.asarray(stored, dtype=np.float32)
    if precision in ("binary", "ubinary"):
        bits = np.unpackbits(_unsigned(stored), axis=1, count=manifest.model.dimension)
        return bits.astype(np.float32) * 2 - 1
    assert ranges is not None, "eight bits without what they are spread over"
    low, high = np.array([ranges.low, ranges.high], dtype=np.float32)
    return low + (_unsigned(stored) + np.float32(0.5)) * ((high - low) / STEPS)


def _unsigned(stored: NDArray[Any]) -> NDArray[np.uint8]:
    if stored.dtype == np.uint8:
        return stored
    return (stored.astype(np.int16) + 128).astype(np.uint8)
