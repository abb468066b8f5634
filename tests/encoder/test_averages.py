from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from clusterns.encoder.averages import averaged_encoder
from clusterns.encoder.base import load_base
from clusterns.encoder.settings import Average
from clusterns.encoder.word_vectors import load_word_vectors
from clusterns.errors import UserError
from tests.helpers.models import open_plain

SENTENCES = ["A cat sat on the mat.", "Dogs."]


@pytest.mark.parametrize(
    ("average", "layers"),
    [("first-last-avg", (1, -1)), ("embedding-last-avg", (0, -1)), ("embedding-avg", (0,)), ("mean", (-1,))],
)  # fmt: skip
def test_layer_averages_of_each_family(
    tiny_base: Path, tmp_path: Path, average: Average, layers: tuple[int, ...]
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_base)
    plain = AutoModel.from_pretrained(tiny_base, dtype=torch.float32).eval()
    inputs = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = plain(**inputs, output_hidden_states=True).hidden_states
    mask = inputs["attention_mask"][..., None]
    chosen = torch.stack([states[layer] for layer in layers]).mean(dim=0)
    expected = ((chosen * mask).sum(1) / mask.sum(1)).numpy()
    averaged_encoder(str(tiny_base), average).save(str(tmp_path))
    assert open_plain(tmp_path).encode(SENTENCES) == pytest.approx(expected, abs=1e-5)


def test_cls_of_a_sentence_transformer_takes_its_encoder(tmp_path: Path) -> None:
    load_base("minibert", "mean").save(str(tmp_path / "mean"))
    found = averaged_encoder(str(tmp_path / "mean"), "cls").encode(SENTENCES)
    np.testing.assert_allclose(found, load_base("minibert", "cls").encode(SENTENCES), atol=1e-6)


def test_word_vectors_have_no_states(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("cat 1 0\n", "utf-8")
    load_word_vectors(tmp_path / "vectors.txt").save(str(tmp_path / "model"))
    with pytest.raises(UserError, match="begins with a WordEmbeddings"):
        averaged_encoder(str(tmp_path / "model"), "cls")


def test_word_vectors_with_blanks_and_stop_words(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("3 2\nthe 1 0\n. . . 7 7\nat name@domain.com 8 8\ncat 3 4\ncat 9 9\n", "utf-8")
    model = load_word_vectors(path)
    words = model[0].tokenizer.get_vocab()[1:]
    assert words == ["the", ". . .", "at name@domain.com", "cat"]
    np.testing.assert_array_equal(model[0].emb_layer.weight[1:], [[1, 0], [7, 7], [8, 8], [3, 4]])
    model.save(str(tmp_path / "model"))
    np.testing.assert_allclose(
        open_plain(tmp_path / "model").encode(["the cat", "dog", ""]), [[2, 2], [0, 0], [0, 0]]
    )


def test_stop_words_are_left_out_where_asked(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("the 1 0\ncat 0 1\n")
    every = load_word_vectors(tmp_path / "vectors.txt").encode("the cat")
    some = load_word_vectors(tmp_path / "vectors.txt", stop_words=True).encode("the cat")
    assert every.tolist() == [0.5, 0.5]
    assert some.tolist() == [0.0, 1.0]
