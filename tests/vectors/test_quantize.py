from __future__ import annotations

import numpy as np
import pytest

from clusterns.errors import UserError
from clusterns.vectors.quantize import Ranges, dequantize, quantize

RANGES = Ranges(low=[0.0, -1.0, 2.0], high=[255.0, 1.0, 2.51])


def test_quantize_by_hand():
    ranges = Ranges.of(np.array([[0, -1], [255, 254], [3, 0]], dtype=np.float32))
    assert (ranges.low, ranges.high) == ([0, -1], [255, 254])
    vectors = np.array([[0, 254], [10.5, -7], [300, 126.5]], dtype=np.float32)
    # The floor of the position among 255 equal levels; what lies outside goes to the nearest end.
    expected = [[0, 255], [10, 0], [255, 127]]
    assert quantize(vectors, "uint8", ranges).tolist() == expected
    signed = quantize(vectors, "int8", ranges)
    assert signed.dtype == np.int8
    assert (signed.astype(int) + 128).tolist() == expected
    bits = np.array([[1, -1, 0, 2, -3, 4, 5, -6]], dtype=np.float32)
    assert quantize(bits, "ubinary", None).tolist() == [[0b10010110]]
    assert quantize(bits, "binary", None).tolist() == [[0b10010110 - 128]]
    with pytest.raises(UserError, match="at least two texts"):
        Ranges.of(vectors[:1])


def test_dequantize_by_hand():
    stored = np.array([[0, 0, 255], [10, 127, 1]], dtype=np.uint8)
    step = 2 / 255
    expected = [[0.5, -1 + step / 2, 2.51 + 0.001], [10.5, 0.0, 2.003]]
    np.testing.assert_allclose(dequantize(stored, "uint8", RANGES, 3), expected, atol=1e-6)
    signed = (stored.astype(np.int16) - 128).astype(np.int8)
    np.testing.assert_allclose(dequantize(signed, "int8", RANGES, 3), expected, atol=1e-6)
    vectors = np.array([[0.1, -2]], dtype=np.float32)
    np.testing.assert_array_equal(dequantize(vectors, "float32", None, 2), vectors)


@pytest.mark.parametrize("precision", ["int8", "uint8"])
def test_eight_bits_come_back_to_half_a_level(precision):
    vectors = np.random.default_rng(0).uniform(RANGES.low, RANGES.high, (50, 3)).astype(np.float32)
    again = dequantize(quantize(vectors, precision, RANGES), precision, RANGES, 3)
    steps = (np.array(RANGES.high) - RANGES.low) / 255
    assert (np.abs(again - vectors) <= steps * 0.51).all()


@pytest.mark.parametrize("precision", ["binary", "ubinary"])
@pytest.mark.parametrize("dimension", [16, 13])
def test_one_bit_is_the_sign(precision, dimension):
    vectors = np.random.default_rng(0).normal(size=(5, dimension)).astype(np.float32)
    stored = quantize(vectors, precision, None)
    np.testing.assert_array_equal(dequantize(stored, precision, None, dimension), np.sign(vectors))
