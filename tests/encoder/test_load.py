"""Every way to open a model gives the vectors that Transformers alone gives."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize
from transformers import AutoModel, AutoTokenizer

from clusterns.encoder.load import averaged_encoder, load_base, load_model, position_limit
from clusterns.encoder.locate import minibert_folder
from clusterns.encoder.training_modules import add_training_head, without_training_modules
from clusterns.encoder.word_vectors import load_word_vectors
from clusterns.errors import UserError
from tests.helpers.models import make_tiny_base, open_plain

SENTENCES = ["A cat sat on the mat.", "Dogs."]


@pytest.fixture(scope="module")
def word_vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("words") / "vectors.txt"
    path.write_text('4 2\nthe 1 0\n. . . 7 7\n" 5 5\nnull 0 2\ncat 3 4\n', "utf-8")
    return path


@pytest.mark.parametrize("average", ["cls", "mean", "first-last-avg", "embedding-last-avg"])
def test_every_pooling_of_every_family(tiny_base: Path, tmp_path: Path, average: Any) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_base)
    plain = AutoModel.from_pretrained(tiny_base, dtype=torch.float32).eval()
    inputs = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = plain(**inputs, output_hidden_states=True).hidden_states
    mask = inputs["attention_mask"][..., None]
    layers = {"first-last-avg": [1, -1], "embedding-last-avg": [0, -1]}.get(average, [-1])
    mean = torch.stack([states[layer] for layer in layers]).mean(dim=0)
    expected = states[-1][:, 0] if average == "cls" else (mean * mask).sum(1) / mask.sum(1)
    model = averaged_encoder(str(tiny_base), average)
    model.save(str(tmp_path))
    opened = [open_plain(tmp_path), load_model(str(tiny_base), average)]
    if average in ("cls", "mean"):
        opened.append(load_base(str(tiny_base), average))
    for each in (model, *opened):
        np.testing.assert_allclose(each.encode(SENTENCES), expected.numpy(), atol=1e-5)


def test_half_precision_weights_are_loaded_in_full() -> None:
    assert json.loads((minibert_folder() / "config.json").read_text())["dtype"] == "float16"
    assert load_base().dtype == load_model("minibert", "mean").dtype == torch.float32


def test_weights_that_a_checkpoint_lacks_are_the_same_in_each_load() -> None:
    """BERT's pooler: with other values, the model would have another fingerprint."""
    opened = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        opened += [load_base("minibert"), load_model("minibert", "mean")]
        assert torch.equal(torch.get_rng_state(), before)
    poolers = [model[0].model.pooler.dense.weight for model in opened]
    assert all(torch.equal(pooler, poolers[0]) for pooler in poolers)
    torch.manual_seed(1)
    of_a_run = load_base("minibert", seed=None)[0].model.pooler.dense.weight
    assert not torch.equal(of_a_run, poolers[0])


def test_pickled_weights_are_never_read(tiny_bert: Path, tmp_path: Path) -> None:
    base = Path(shutil.copytree(tiny_bert, tmp_path / "base"))
    model = AutoModel.from_pretrained(base)
    (base / "model.safetensors").unlink()
    torch.save(model.state_dict(), base / "pytorch_model.bin")
    for load in (load_base, lambda name: load_model(name, "mean")):
        with pytest.raises(UserError, match="cannot load the model .*safetensors"):
            load(str(base))


@pytest.mark.parametrize("harmful", [False, True])
def test_pickled_weights_of_a_module_are_refused(
    tiny_bert: Path, tmp_path: Path, harmful: bool
) -> None:
    model = SentenceTransformer(modules=[*load_base(str(tiny_bert)), Dense(32, 8)])
    model.save_pretrained(str(tmp_path))
    (weights,) = tmp_path.glob("*_Dense/model.safetensors")
    weights.unlink()
    pickled = {**model[-1].state_dict(), **({"code": Path} if harmful else {})}
    torch.save(pickled, weights.with_name("pytorch_model.bin"))
    for load in (load_base, load_model):
        with pytest.raises(UserError, match="cannot load the model" if harmful else "are refused"):
            load(str(tmp_path))


def test_a_sentence_transformer_keeps_pooling_normalization_and_prompts(
    tiny_bert: Path, tmp_path: Path
) -> None:
    good = SentenceTransformer(
        modules=[*load_base(str(tiny_bert), "mean"), Normalize()],
        prompts={"query": "find: "},
        default_prompt_name="query",
    )
    good.save_pretrained(str(tmp_path / "run" / "model"))
    model = load_base(str(tmp_path / "run" / "model"))
    add_training_head(model)
    without_training_modules(model).save_pretrained(str(tmp_path / "final"))
    for folder in ("final", "run", "run/model"):
        opened = load_model(str(tmp_path / folder))
        assert opened.prompts["query"] == "find: "
        assert opened.default_prompt_name == "query"
        assert [type(m).__name__ for m in opened] == ["Transformer", "Pooling", "Normalize"]
        np.testing.assert_allclose(opened.encode(SENTENCES), good.encode(SENTENCES), atol=1e-6)
    with pytest.raises(UserError, match="mean pooling, which is kept"):
        load_base(str(tmp_path / "final"), "cls")
    with pytest.raises(UserError, match="a pooling of its own"):
        load_model(str(tmp_path / "run"), "cls")
    cls = averaged_encoder(str(tmp_path / "final"), "cls").encode(SENTENCES)
    np.testing.assert_allclose(cls, load_base(str(tiny_bert), "cls").encode(SENTENCES), atol=1e-6)


@pytest.mark.parametrize(("family", "limit"), [("bert", 80), ("roberta", 80), ("modernbert", None)])
def test_the_length_may_be_anything_that_there_are_positions_for(
    family: str, limit: int | None, tmp_path: Path
) -> None:
    base = str(make_tiny_base(family, tmp_path))
    if family == "roberta":  # those up to the padding's are taken
        limit = 80 - 1 - AutoTokenizer.from_pretrained(base).pad_token_id
    assert position_limit(load_base(base)) == limit
    long = "town " * 200
    assert load_model(base, "mean", max_length=limit).encode(long).shape == (32,)
    a, b = load_model(base, "mean", max_length=5).encode(["a cat sat", "a cat sat down"])
    np.testing.assert_allclose(a, b, atol=1e-6)
    if limit is None:
        return
    with pytest.raises(UserError, match=rf"--max-length {limit + 1}: .* only {limit} tokens"):
        load_model(base, "mean", max_length=limit + 1)


def test_precision_prompt_and_truncation(tmp_path: Path) -> None:
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
    with pytest.raises(UserError, match=r"--truncate-dim 300: .* have 256 dimensions"):
        load_model(str(tmp_path), truncate_dim=300)
    with pytest.raises(UserError, match="--device cuda:99: "):
        load_model(str(tmp_path), device="cuda:99")


@pytest.mark.parametrize(
    ("name", "pooling", "message"),
    [
        ("minibert", None, "a plain encoder without pooling. Choose one with --pooling"),
        ("minibert", "median", "a plain encoder without pooling"),
        ("no/such/place", None, "'no/such/place' is not a run folder"),
        (str(Path(__file__).parent), None, "is not a run folder"),
    ],
)
def test_models_that_cannot_be_loaded(name: str, pooling: str | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_model(name, pooling)


def test_a_base_with_an_unknown_pooling() -> None:
    with pytest.raises(
        UserError, match="pooling=max does not exist. Choose one of auto, cls, mean"
    ):
        load_base("minibert", "max")  # type: ignore[arg-type]


def test_missing_weights_are_one_sentence(tmp_path: Path) -> None:
    for file in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / file).write_bytes((minibert_folder() / file).read_bytes())
    with pytest.raises(UserError, match="cannot load the model"):
        load_model(str(tmp_path), "mean")


def test_word_vectors(word_vectors: Path, tmp_path: Path) -> None:
    model = load_model(str(word_vectors))
    texts = ["The cat", "null", 'the "', "unknown words", ""]
    expected = [[2, 2], [0, 2], [3, 2.5], [0, 0], [0, 0]]
    np.testing.assert_allclose(model.encode(texts), expected, atol=1e-6)
    model.save(str(tmp_path / "model"))
    np.testing.assert_allclose(open_plain(tmp_path / "model").encode(texts), expected, atol=1e-6)
    without = load_word_vectors(word_vectors, stop_words=True)
    assert without.encode("the cat").tolist() == [3, 4]
    with pytest.raises(UserError, match="word vectors are averaged"):
        load_model(str(word_vectors), "cls")
    with pytest.raises(UserError, match="starts with a WordEmbeddings"):
        averaged_encoder(str(tmp_path / "model"), "cls")


@pytest.mark.parametrize("text", ["the 1 x\n", "", "the\n", "An ordinary text.\nOf two lines.\n"])
def test_broken_word_vectors(tmp_path: Path, text: str) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(UserError, match=r"cannot read .*vectors.txt as word vectors"):
        load_model(str(path))
