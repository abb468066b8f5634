from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clusterns.vectors.devices import lower_precision
from clusterns.vectors.manifest import CorpusFacts, Manifest, ModelFacts, Ranges
from clusterns.vectors.precision import decoded
from clusterns.vectors.settings import EncodeSettings

RANGES = Ranges(low=[0.0, -1.0, 2.0], high=[255.0, 1.0, 2.51])


def manifest(precision: Any, dimension: int = 3) -> Manifest:
    return Manifest(
        model=ModelFacts(name="m", fingerprint="f", dimension=dimension),
        corpus=CorpusFacts(sources=[], fingerprint="c"),
        settings=EncodeSettings(precision=precision),
        versions={},
        ranges=RANGES if "int" in precision else None,
    )


def test_eight_bits_by_hand() -> None:
    stored = np.array([[0, 0, 255], [10, 127, 1]], dtype=np.uint8)
    step = 2 / 255
    expected = [[0.5, -1 + step / 2, 2.51 + 0.001], [10.5, 0.0, 2.003]]
    np.testing.assert_allclose(decoded(stored, manifest("uint8")), expected, atol=1e-6)
    signed = (stored.astype(np.int16) - 128).astype(np.int8)
    np.testing.assert_allclose(decoded(signed, manifest("int8")), expected, atol=1e-6)


@pytest.mark.parametrize("precision", ["int8", "uint8"])
def test_what_was_lowered_comes_back_to_half_a_step(precision: Any) -> None:
    vectors = np.random.default_rng(0).uniform(RANGES.low, RANGES.high, (50, 3))
    again = decoded(
        lower_precision(vectors.astype(np.float32), precision, RANGES), manifest(precision)
    )
    steps = (np.array(RANGES.high) - RANGES.low) / 255
    assert (np.abs(again - vectors) <= steps * 0.51).all()


@pytest.mark.parametrize("precision", ["binary", "ubinary"])
def test_one_bit_is_the_sign(precision: Any) -> None:
    vectors = np.random.default_rng(0).normal(size=(5, 16)).astype(np.float32)
    stored = lower_precision(vectors, precision, None)
    np.testing.assert_array_equal(decoded(stored, manifest(precision, 16)), np.sign(vectors))


def test_floats_as_they_are() -> None:
    vectors = np.array([[0.1, -2]], dtype=np.float32)
    np.testing.assert_array_equal(decoded(vectors, manifest("float32")), vectors)
