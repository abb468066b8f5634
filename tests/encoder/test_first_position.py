"""One position of the last layer gives the vectors and gradients of all of them."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize
from torch import Tensor
from transformers import AutoTokenizer

from clusterns.encoder.base import load_base, without_training_parts
from clusterns.encoder.dropout import set_dropout
from clusterns.encoder.first_position import train_every_position, train_first_position_only

SENTENCES = ["A short one.", "A sentence that is a good deal longer than the others here.", "Two."]
LIKE_BERT = ("bert", "roberta")


def embedded(model: SentenceTransformer) -> dict[str, Tensor]:
    features = model.preprocess(SENTENCES)
    return dict(model(dict(features)))


def gradients(model: SentenceTransformer) -> dict[str, Tensor]:
    model.zero_grad()
    embedded(model)["sentence_embedding"].pow(3).sum().backward()
    return {n: p.grad for n, p in model.named_parameters() if p.grad is not None}


def test_equals_the_whole_layer(tiny_base: Path) -> None:
    model = load_base(str(tiny_base), "cls").train()
    set_dropout(model, 0.0)
    whole = copy.deepcopy(model)
    applies = train_first_position_only(model)
    assert applies == (model[0].model.config.model_type in LIKE_BERT)
    ours, theirs = embedded(model), embedded(whole)
    assert ours["token_embeddings"].shape[1] == (1 if applies else theirs["input_ids"].shape[1])
    assert torch.allclose(ours["sentence_embedding"], theirs["sentence_embedding"], atol=1e-6)
    mine, other = gradients(model), gradients(whole)
    assert mine.keys() == other.keys()
    for name, gradient in mine.items():
        assert torch.allclose(gradient, other[name], atol=1e-5), name


def test_other_poolings_and_paddings_are_left_alone(tiny_bert: Path) -> None:
    assert not train_first_position_only(load_base(str(tiny_bert), "mean"))
    model = load_base(str(tiny_bert), "cls")
    model.tokenizer.padding_side = "left"
    assert not train_first_position_only(model)
    model = load_base(str(tiny_bert), "cls")
    model[1].include_prompt = False
    assert not train_first_position_only(model)
    model = load_base(str(tiny_bert), "cls")
    model.insert(1, Normalize())  # it might read other positions
    assert not train_first_position_only(model)


@pytest.mark.parametrize("family", ["RobertaPreLayerNorm", "MegatronBert", "RoFormer"])
def test_families_that_share_the_names_of_berts_parts_are_left_alone(
    family: str, tiny_bert: Path, tmp_path: Path
) -> None:
    config = getattr(transformers, f"{family}Config")(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        vocab_size=12288,
    )  # fmt: skip
    getattr(transformers, f"{family}Model")(config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(tmp_path)
    assert not train_first_position_only(load_base(str(tmp_path), "cls"))


def test_eval_mode_gives_every_position(tiny_bert: Path) -> None:
    model = load_base(str(tiny_bert), "cls").eval()
    before = embedded(model)["token_embeddings"]
    train_first_position_only(model)
    assert torch.equal(embedded(model)["token_embeddings"], before)


@pytest.mark.parametrize("finish", [train_every_position, without_training_parts])
def test_undone(tiny_bert: Path, finish: object) -> None:
    model = load_base(str(tiny_bert), "cls").train()
    train_first_position_only(model)
    assert embedded(model)["token_embeddings"].shape[1] == 1
    assert callable(finish)
    finish(model)
    assert embedded(model)["token_embeddings"].shape[1] > 1


def test_the_attention_of_the_one_position_has_its_dropout(tiny_bert: Path) -> None:
    model = load_base(str(tiny_bert), "cls").train()
    set_dropout(model, 0.0)
    train_first_position_only(model)
    first, second = (embedded(model)["sentence_embedding"] for _ in range(2))
    assert torch.equal(first, second)
    model[0].model.encoder.layer[-1].attention.self.dropout.p = 0.5
    first, second = (embedded(model)["sentence_embedding"] for _ in range(2))
    assert not torch.allclose(first, second, atol=1e-3)


def test_dropout_reaches_the_one_position(tiny_bert: Path) -> None:
    model = load_base(str(tiny_bert), "cls").train()
    train_first_position_only(model)
    first, second = (embedded(model)["sentence_embedding"] for _ in range(2))
    assert not torch.allclose(first, second)
