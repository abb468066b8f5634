from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import BertConfig

from clusterns.encoder.load import load_model
from clusterns.encoder.prompt import prompt_encoder
from clusterns.errors import UserError
from clusterns.vectors.fingerprint import fingerprint
from tests.helpers.hash_encoder import HashEncoder


@pytest.fixture
def loaded(tiny_bert):
    return load_model(str(tiny_bert), "mean", device="cpu")


def test_the_same_model_loaded_again_saved_and_used(loaded, tiny_bert, tmp_path):
    before = fingerprint(loaded)
    assert fingerprint(load_model(str(tiny_bert), "mean", device="cpu")) == before
    loaded.save(str(tmp_path))
    loaded.encode(["one text", "another text that is longer"])
    assert fingerprint(loaded) == before
    assert fingerprint(load_model(str(tmp_path), device="cpu")) == before


def weights(model: Any) -> None:
    with torch.no_grad():
        next(iter(model.parameters()))[0, 0] += 1e-3


def tokeniser(model: Any) -> None:
    model.tokenizer.add_tokens(["harbourtown"])


def special_tokens(model: Any) -> None:
    model.tokenizer.split_special_tokens = True


def attention_heads(model: Any) -> None:
    model[0].model.config.num_attention_heads = 4


CHANGES: dict[str, Callable[[Any], None]] = {
    "weights": weights,
    "tokeniser": tokeniser,
    "special tokens": special_tokens,
    "heads": attention_heads,
    "prompts": lambda model: setattr(model, "prompts", {"query": "find: "}),
    "prompt": lambda model: setattr(model, "default_prompt_name", "query"),
    "length": lambda model: setattr(model, "max_seq_length", 20),
    "truncated": lambda model: setattr(model, "truncate_dim", 8),
    "pooling": lambda model: setattr(model[1], "pooling_mode", "cls"),
    "precision": lambda model: model.to(torch.bfloat16),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_decides_vectors_counts(change, loaded):
    before = fingerprint(loaded)
    change(loaded)
    assert fingerprint(loaded) != before


def test_every_pooling_is_another_model(tiny_bert):
    poolings = ["cls", "mean", "max", "lasttoken", "first-last-avg", "embedding-avg"]
    found = {fingerprint(load_model(str(tiny_bert), p, device="cpu")) for p in poolings}
    found.add(fingerprint(prompt_encoder(str(tiny_bert), "bert")))
    assert len(found) == 7


def test_the_words_of_word_vectors_count(tmp_path):
    found = set()
    for number, words in enumerate(["the cat", "the dog", "cat the"]):
        a, b = words.split()
        (tmp_path / f"{number}.txt").write_text(f"{a} 1 0\n{b} 3 4\n")
        found.add(fingerprint(load_model(str(tmp_path / f"{number}.txt"))))
    assert len(found) == 3


def test_an_upgrade_of_a_library_changes_nothing(loaded, monkeypatch):
    """Other words for the same thing, other versions, options that are off, tables of positions."""
    before = fingerprint(loaded)
    monkeypatch.setattr(torch.nn.Module, "__repr__", lambda self: "another print of it")
    pooling = type(loaded[1])
    plain, config = pooling.get_config_dict, BertConfig.to_diff_dict
    monkeypatch.setattr(pooling, "get_config_dict", lambda self: {**plain(self), "new": False})
    later = {"transformers_version": "9.0", "new_option": None, "output_router_logits": True}
    monkeypatch.setattr(BertConfig, "to_diff_dict", lambda self: {**config(self), **later})
    monkeypatch.setattr(pooling, "__module__", "sentence_transformers.elsewhere")
    state = SentenceTransformer.state_dict

    def renamed(self: Any) -> dict[str, torch.Tensor]:
        tensors = {f"new.{name}": tensor for name, tensor in state(self).items()}
        return {**tensors, "position_ids": torch.arange(64)}

    monkeypatch.setattr(SentenceTransformer, "state_dict", renamed)
    assert fingerprint(loaded) == before


def test_only_models_of_pytorch_have_one():
    with pytest.raises(UserError, match="only a PyTorch model"):
        fingerprint(HashEncoder())
