from __future__ import annotations

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from clusterns.errors import UserError
from clusterns.vectors.devices import TextEncoder, lower_precision, ranges_of, text_encoder


def test_as_plain_encode_and_equal_texts_once(
    model: SentenceTransformer, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = model.encode(texts)
    calls: list[list[str]] = []
    plain = model.encode

    def encode(inputs: list[str], **options: object) -> object:
        calls.append(inputs)
        return plain(inputs, **options)

    monkeypatch.setattr(model, "encode", encode)
    done: list[int] = []
    vectors = TextEncoder(model, 8, normalize=False)(texts, done.append)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert {len(call) for call in calls[:-1]} == {8}
    assert sorted(text for call in calls for text in call) == sorted(set(texts))
    assert sum(done) == len(texts)


def test_texts_that_are_cut_are_counted(model: SentenceTransformer) -> None:
    encode = TextEncoder(model, 8, normalize=False)
    assert model.max_seq_length == 64
    encode(["a " * 62, "a " * 63, "a", "a " * 63], lambda _: None)
    assert encode.truncated == 2


def test_several_devices_give_the_same_bytes(model: SentenceTransformer, texts: list[str]) -> None:
    alone = TextEncoder(model, 16, normalize=True)(texts, lambda _: None)
    with text_encoder(model, ["cpu", "cpu"], 16, True) as encode:
        together = encode(texts, lambda _: None)
    np.testing.assert_array_equal(together, alone)


def test_vectors_that_cannot_be_right(
    model: SentenceTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "encode", lambda inputs, **_: np.full((len(inputs), 2), np.nan))
    with pytest.raises(UserError, match="NaN or infinity for 1 of 1 sentences"):
        TextEncoder(model, 8, normalize=False)(["a"], lambda _: None)


def test_a_batch_that_does_not_fit(
    model: SentenceTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def encode(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(model, "encode", encode)
    with pytest.raises(UserError, match="8 texts at once do not fit.*smaller --batch-size"):
        TextEncoder(model, 8, normalize=False)(["a"], lambda _: None)


def test_eight_bits_by_hand() -> None:
    ranges = ranges_of(np.array([[0, -1], [255, 254], [3, 0]], dtype=np.float32))
    assert (ranges.low, ranges.high) == ([0, -1], [255, 254])
    vectors = np.array([[0, 254], [10.5, -7], [300, 126.5]], dtype=np.float32)
    # Floor of the place in 255 equal steps; what lies outside goes to the nearest end.
    expected = [[0, 255], [10, 0], [255, 127]]
    assert lower_precision(vectors, "uint8", ranges).tolist() == expected
    signed = lower_precision(vectors, "int8", ranges)
    assert signed.dtype == np.int8
    assert (signed.astype(int) + 128).tolist() == expected
    with pytest.raises(UserError, match="two texts or more"):
        ranges_of(vectors[:1])


def test_one_bit_by_hand() -> None:
    vectors = np.array([[1, -1, 0, 2, -3, 4, 5, -6]], dtype=np.float32)
    assert lower_precision(vectors, "ubinary", None).tolist() == [[0b10010110]]
    assert lower_precision(vectors, "binary", None).tolist() == [[0b10010110 - 128]]
