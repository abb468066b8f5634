from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from clusterns.encoder.load import load_model
from clusterns.encoder.locate import minibert_folder
from clusterns.errors import UserError
from clusterns.vectors.embed import DocumentEncoder, Embedder, document_encoder, token_counts
from tests.helpers.hash_encoder import HashEncoder


def test_every_sentence_is_encoded_once_and_rows_keep_their_order(hash_encoder):
    embed = Embedder(hash_encoder)
    assert (len(embed([])), embed.dimension) == (0, None)
    vectors = embed(["b", "a", "b", "c"])
    again = embed(["c", "d", "a"])
    assert hash_encoder.calls == [["b", "a", "c"], ["d"]]
    assert (embed.encoded, embed.dimension) == (4, 16)
    np.testing.assert_array_equal(vectors, [hash_encoder.vector(s) for s in "babc"])
    np.testing.assert_array_equal(again, [hash_encoder.vector(s) for s in "cda"])


def test_queries_and_documents_have_their_own_vectors():
    class Asymmetric(HashEncoder):
        def encode_query(self, inputs: list[str], **_: Any) -> np.ndarray:
            return self.encode(["query " + text for text in inputs])

    embed = Embedder(Asymmetric())
    assert not np.allclose(embed(["a"], "query"), embed(["a"]))
    np.testing.assert_array_equal(embed(["a"], "document"), embed(["a"]))


class Answering:
    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def encode(self, inputs: list[str], **_: Any) -> Any:
        return self.answers.pop(0)


NINE = [str(number) for number in range(9)]


@pytest.mark.parametrize(
    ("answers", "calls", "message"),
    [
        ([[[1, 2], [np.nan, 0]]], [["a", "second"]], "1 of 2 texts, the first is 'second'"),
        ([[[1, 2], [np.inf, 0]]], [["a", "second"]], "1 of 2 texts, the first is 'second'"),
        ([np.ones((1, 2))], [["a", "b"]], r"shape \(1, 2\) for 2 texts"),
        ([np.ones((1, 2)), np.ones((1, 3))], [["a"], ["b"]], "from 2 to 3"),
        ([np.ones((8, 2)), np.ones((1, 3))], [NINE], "from 2 to 3"),
    ],
)
def test_vectors_that_cannot_be_right(answers, calls, message):
    embed = Embedder(Answering(*map(np.array, answers)), batch_size=1)
    with pytest.raises(UserError, match=message):
        [embed(texts) for texts in calls]


@pytest.fixture(scope="module")
def minibert():
    return load_model(str(minibert_folder()), "mean")


def test_the_cache_spares_the_second_call_and_a_broken_file_is_left_out(minibert, tmp_path):
    first = Embedder(minibert, cache=tmp_path)
    vectors = first(["a cat", "a dog"])
    second = Embedder(minibert, cache=tmp_path)
    np.testing.assert_array_equal(second(["a dog", "a cat"]), vectors[::-1])
    assert (first.encoded, second.encoded) == (2, 0)
    second(["a cow"])
    assert Embedder(minibert, cache=tmp_path)(["a cow", "a cat"]).shape == (2, 256)
    for file in tmp_path.rglob("*.npz"):
        file.write_bytes(file.read_bytes()[:100])
    embed = Embedder(minibert, cache=tmp_path)
    embed(["a cat"])
    assert embed.encoded == 1


def test_truncation_is_counted_in_tokens_with_those_of_the_prompt(hash_encoder):
    model = load_model(str(minibert_folder()), "mean", max_length=6)
    # Two special tokens leave room for four words.
    assert token_counts(model, ["a b c d", "a b c d e"]) == [6, 7]
    assert Embedder(model).truncation_rate(["a b c d", "a b c d e", "a b c d"]) == 0.5
    model.prompts = {"general": "a b ", "document": "a b c "}
    assert token_counts(model, ["a b c d"]) == [6]
    model.default_prompt_name = "general"
    assert token_counts(model, ["a b c d"]) == token_counts(model, ["a b c d"], "query") == [8]
    assert token_counts(model, ["a b c d"], "document") == [9]
    assert Embedder(model).truncation_rate(["a b", "a b c d"]) == 0.5
    assert Embedder(hash_encoder).truncation_rate(["a " * 1000]) == 0  # it has no tokenizer


def test_sentences_go_to_the_model_by_length_a_few_batches_a_call():
    encoder = HashEncoder()
    sentences = ["w " * (1 + i % 7) + str(i) for i in range(50)]
    vectors = Embedder(encoder, batch_size=2)(sentences)
    assert [len(call) for call in encoder.calls] == [16, 16, 16, 2]
    words = [len(sentence.split()) for call in encoder.calls for sentence in call]
    assert words == sorted(words, reverse=True)
    np.testing.assert_array_equal(vectors, [encoder.vector(s) for s in sentences])


def test_documents_are_those_of_plain_encode_and_equal_texts_once(model, texts, monkeypatch):
    expected = model.encode(texts)
    calls: list[list[str]] = []
    plain = model.encode

    def encode(inputs: list[str], **options: object) -> object:
        calls.append(inputs)
        return plain(inputs, **options)

    monkeypatch.setattr(model, "encode_document", encode)
    done: list[int] = []
    vectors = DocumentEncoder(model, 8, normalize=False)(texts, done.append)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert {len(call) for call in calls[:-1]} == {8}
    assert sorted(text for call in calls for text in call) == sorted(set(texts))
    assert sum(done) == len(texts)


def test_texts_that_are_cut_are_counted(model):
    encode = DocumentEncoder(model, 8, normalize=False)
    assert model.max_seq_length == 64
    encode(["a " * 62, "a " * 63, "a", "a " * 63], lambda _: None)
    assert encode.truncated == 2


@pytest.mark.slow  # starts two processes
def test_several_devices_give_the_same_bytes(model, texts):
    alone = DocumentEncoder(model, 16, normalize=True)(texts, lambda _: None)
    with document_encoder(model, ["cpu", "cpu"], 16, True) as encode:
        together = encode(texts, lambda _: None)
    np.testing.assert_array_equal(together, alone)


def test_a_batch_that_does_not_fit(model, monkeypatch):
    def encode(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(model, "encode_document", encode)
    with pytest.raises(UserError, match="a batch of 8 texts does not fit.*smaller --batch-size"):
        DocumentEncoder(model, 8, normalize=False)(["a"], lambda _: None)
