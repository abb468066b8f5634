from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from clusterns.encoder.base import minibert_folder
from clusterns.errors import UserError
from clusterns.vectors.models import load_model

SENTENCES = ["A cat sat on the mat.", "Dogs."]


def hidden_states() -> tuple[list[torch.Tensor], torch.Tensor]:
    tokenizer = AutoTokenizer.from_pretrained(minibert_folder())
    model = AutoModel.from_pretrained(minibert_folder(), dtype=torch.float32).eval()
    inputs = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = model(**inputs, output_hidden_states=True).hidden_states
    return states, inputs["attention_mask"][..., None]


def test_every_pooling_against_plain_transformers() -> None:
    states, mask = hidden_states()

    def mean(layer: torch.Tensor) -> torch.Tensor:
        return (layer * mask).sum(1) / mask.sum(1)

    expected = {
        "cls": states[-1][:, 0],
        "mean": mean(states[-1]),
        "first-last-avg": mean((states[1] + states[-1]) / 2),
        "embedding-avg": mean(states[0]),
    }
    for pooling, vectors in expected.items():
        model = load_model("minibert", pooling)
        assert next(iter(model.parameters())).dtype == torch.float32
        found = model.encode(SENTENCES)
        np.testing.assert_allclose(found, vectors.numpy(), atol=1e-5, err_msg=pooling)


def test_run_folder_and_saved_model(tmp_path: Path) -> None:
    model = load_model("minibert", "mean")
    model.save(str(tmp_path / "run" / "model"))
    for place in ("run", "run/model"):
        again = load_model(str(tmp_path / place))
        np.testing.assert_allclose(again.encode(SENTENCES), model.encode(SENTENCES), atol=1e-5)
    with pytest.raises(UserError, match="a pooling of its own"):
        load_model(str(tmp_path / "run"), "cls")


def test_max_length(tmp_path: Path) -> None:
    short = load_model("minibert", "mean", max_length=5)
    assert short.max_seq_length == 5
    a, b = short.encode(["a cat sat", "a cat sat down"])
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_kind_of_numbers_prompt_and_first_numbers(tmp_path: Path) -> None:
    plain = load_model("minibert", "mean")
    plain.prompts = {"title": "a title: "}
    plain.save(str(tmp_path))
    half = load_model(str(tmp_path), dtype="bfloat16")
    assert {parameter.dtype for parameter in half.parameters()} == {torch.bfloat16}
    np.testing.assert_allclose(half.encode(SENTENCES), plain.encode(SENTENCES), atol=0.05)
    titled = load_model(str(tmp_path), prompt_name="title")
    expected = plain.encode([f"a title: {sentence}" for sentence in SENTENCES])
    np.testing.assert_allclose(titled.encode(SENTENCES), expected, atol=1e-5)
    short = load_model(str(tmp_path), truncate_dim=7)
    np.testing.assert_allclose(short.encode(SENTENCES), plain.encode(SENTENCES)[:, :7], atol=1e-5)
    with pytest.raises(UserError, match=r"--prompt-name subject: the prompts of .* are .*title"):
        load_model(str(tmp_path), prompt_name="subject")
    with pytest.raises(UserError, match=r"--truncate-dim 300: the vectors of .* have 256"):
        load_model(str(tmp_path), truncate_dim=300)
    with pytest.raises(UserError, match="--device cuda:99: "):
        load_model(str(tmp_path), device="cuda:99")


@pytest.mark.parametrize(
    ("name", "pooling", "says"),
    [
        ("minibert", None, "plain encoder: say how .*--pooling"),
        ("minibert", "median", "plain encoder: say how"),
        ("no/such/place", None, "'no/such/place' is no run folder"),
    ],
)
def test_models_that_cannot_be_loaded(name: str, pooling: str | None, says: str) -> None:
    with pytest.raises(UserError, match=says):
        load_model(name, pooling)


def test_an_empty_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no run folder"):
        load_model(str(tmp_path))


def test_broken_weights(tmp_path: Path) -> None:
    for file in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / file).write_bytes((minibert_folder() / file).read_bytes())
    with pytest.raises(UserError, match="cannot load the model"):
        load_model(str(tmp_path), "mean")


def test_word_vectors(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text('the 1 0\n" 5 5\nnull 0 2\ncat 3 4\n', "utf-8")
    model = load_model(str(path))
    found = model.encode(["The cat", "null", 'the "', "unknown words", ""])
    np.testing.assert_allclose(found, [[2, 2], [0, 2], [3, 2.5], [0, 0], [0, 0]], atol=1e-6)
    with pytest.raises(UserError, match="word vectors are averaged"):
        load_model(str(path), "cls")


@pytest.mark.parametrize("text", ["the 1 0\ncat 3 4 5\n", "the 1 x\n", "", "the\n"])
def test_broken_word_vectors(tmp_path: Path, text: str) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(UserError, match="vectors.txt is not in GloVe's text format"):
        load_model(str(path))
