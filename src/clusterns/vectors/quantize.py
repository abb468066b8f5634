"""Quantize embeddings, and restore approximate floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterns.errors import UserError
from clusterns.settings import Settings
from clusterns.vectors.settings import Precision

LEVELS = 255  # of the 8-bit values of Sentence Transformers


class Ranges(Settings):
    """Minimum and maximum of each dimension, the range that int8 and uint8 cover."""

    low: list[float]
    high: list[float]

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> Ranges:
        """Compute the ranges from (n, d) vectors."""
        if len(vectors) < 2:
            raise UserError(
                "--precision int8 and uint8 need at least two texts to find the range of values."
            )
        return cls(low=vectors.min(axis=0).tolist(), high=vectors.max(axis=0).tolist())


def quantize(
    vectors: NDArray[np.float32], precision: Precision, ranges: Ranges | None
) -> NDArray[Any]:
    """Quantize (n, d) vectors as Sentence Transformers does, with given ranges."""
    from sentence_transformers.util import quantize_embeddings

    table = np.array([ranges.low, ranges.high], dtype=np.float32) if ranges else None
    return quantize_embeddings(vectors, precision, ranges=table)


def dequantize(
    stored: NDArray[Any], precision: Precision, ranges: Ranges | None, dimension: int | None
) -> NDArray[np.float32]:
    """Convert quantized vectors to (n, d) floats: the middle of an 8-bit level; -1 or 1 for a bit."""
    if precision == "float32":
        return np.asarray(stored, dtype=np.float32)
    sign = np.uint8(0x80 if stored.dtype == np.int8 else 0)
    unsigned: NDArray[np.uint8] = stored.view(np.uint8) ^ sign
    if precision in ("binary", "ubinary"):
        return np.unpackbits(unsigned, axis=1, count=dimension).astype(np.float32) * 2 - 1
    assert ranges is not None, "8-bit values without their ranges"
    low, high = np.array([ranges.low, ranges.high], dtype=np.float32)
    return low + (unsigned + np.float32(0.5)) * ((high - low) / LEVELS)
