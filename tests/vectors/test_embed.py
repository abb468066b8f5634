from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clusterns.encoder.load import load_model
from clusterns.encoder.locate import minibert_folder
from clusterns.errors import UserError
from clusterns.vectors.embed import Embedder, token_counts
from tests.helpers.hash_encoder import HashEncoder


def test_every_sentence_is_encoded_once_and_rows_keep_their_order(
    hash_encoder: HashEncoder,
) -> None:
    embed = Embedder(hash_encoder)
    vectors = embed(["b", "a", "b", "c"])
    again = embed(["c", "d", "a"])
    assert hash_encoder.calls == [["b", "a", "c"], ["d"]]
    assert embed.encoded == 4
    np.testing.assert_array_equal(vectors, [hash_encoder.vector(s) for s in "babc"])
    np.testing.assert_array_equal(again, [hash_encoder.vector(s) for s in "cda"])


def test_queries_and_documents_have_their_own_vectors() -> None:
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


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_names_the_sentence(bad: float) -> None:
    model = Answering(np.array([[1.0, 2.0], [bad, 0.0]]))
    with pytest.raises(UserError, match="1 of 2 sentences, the first is 'second'"):
        Embedder(model)(["first", "second"])


def test_changed_dimension() -> None:
    embed = Embedder(Answering(np.ones((1, 2)), np.ones((1, 3))))
    embed(["a"])
    with pytest.raises(UserError, match="from 2 to 3"):
        embed(["b"])


def test_answer_of_another_shape() -> None:
    with pytest.raises(UserError, match=r"shape \(1, 2\) for 2 sentences"):
        Embedder(Answering(np.ones((1, 2))))(["a", "b"])


@pytest.fixture(scope="module")
def minibert() -> Any:
    return load_model(str(minibert_folder()), "mean")


def test_cache_spares_the_second_call(minibert: Any, tmp_path: Path) -> None:
    first = Embedder(minibert, cache=tmp_path)
    vectors = first(["a cat", "a dog"])
    second = Embedder(minibert, cache=tmp_path)
    np.testing.assert_array_equal(second(["a dog", "a cat"]), vectors[::-1])
    assert (first.encoded, second.encoded) == (2, 0)
    second(["a cow"])
    assert Embedder(minibert, cache=tmp_path)(["a cow", "a cat"]).shape == (2, 256)


def test_a_broken_cache_file_is_left_out(minibert: Any, tmp_path: Path) -> None:
    Embedder(minibert, cache=tmp_path)(["a cat"])
    (file,) = tmp_path.rglob("*.npz")
    file.write_bytes(file.read_bytes()[:100])
    embed = Embedder(minibert, cache=tmp_path)
    embed(["a cat"])
    assert embed.encoded == 1


def test_truncation_is_counted_in_tokens() -> None:
    model = load_model(str(minibert_folder()), "mean", max_length=6)
    # Two special tokens leave room for four words.
    assert token_counts(model, ["a b c d", "a b c d e"]) == [6, 7]
    assert Embedder(model).truncation_rate(["a b c d", "a b c d e", "a b c d"]) == 0.5


def test_a_model_without_tokenizer_truncates_nothing(hash_encoder: HashEncoder) -> None:
    assert Embedder(hash_encoder).truncation_rate(["a " * 1000]) == 0


def test_sentences_go_to_the_model_by_length_a_few_batches_a_call() -> None:
    encoder = HashEncoder()
    sentences = ["w " * (1 + i % 7) + str(i) for i in range(50)]
    vectors = Embedder(encoder, batch_size=2)(sentences)
    assert [len(call) for call in encoder.calls] == [16, 16, 16, 2]
    words = [len(sentence.split()) for call in encoder.calls for sentence in call]
    assert words == sorted(words, reverse=True)
    np.testing.assert_array_equal(vectors, [encoder.vector(s) for s in sentences])


def test_dimension_that_changes_between_two_calls_of_one_set() -> None:
    model = Answering(np.ones((8, 2)), np.ones((1, 3)))
    with pytest.raises(UserError, match="from 2 to 3"):
        Embedder(model, batch_size=1)([str(i) for i in range(9)])
