"""The faster ways compute the same: dropout is dropout, and one position gives what all of them give."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize
from torch import Tensor, nn
from transformers import AutoTokenizer

from clusterns.encoder.load import load_base
from clusterns.encoder.speed import (
    FastDropout,
    has_dropout,
    set_dropout,
    train_every_position,
    train_first_position_only,
    use_fast_dropout,
)
from clusterns.encoder.training_modules import without_training_modules

SENTENCES = ["A short one.", "A sentence that is a good deal longer than the others here.", "Two."]
LIKE_BERT = ("bert", "roberta")


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_drops_the_asked_share_and_keeps_the_mean(probability: float) -> None:
    torch.manual_seed(0)
    ones = torch.ones(1000, 301)
    dropped = FastDropout(probability)(ones)
    spread = (probability * (1 - probability) / ones.numel()) ** 0.5
    assert (dropped == 0).float().mean().item() == pytest.approx(probability, abs=5 * spread)
    kept = dropped[dropped != 0]
    assert kept.unique().numel() == 1
    assert kept[0].item() == pytest.approx(1 / (1 - probability), rel=1e-3)


def test_neighboring_cells_are_independent() -> None:
    """Four cells share one draw of 64 bits: each pair of them is dropped together by chance only."""
    torch.manual_seed(0)
    zeros = (FastDropout(0.3)(torch.ones(100_000, 4)) == 0).double()
    together = zeros.T @ zeros / len(zeros)
    expected = torch.full((4, 4), 0.09, dtype=torch.double).fill_diagonal_(0.3)
    assert torch.allclose(together, expected, atol=0.01)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 350])
def test_any_size_follows_the_random_state_and_passes_the_gradient(size: int) -> None:
    dropout, x = FastDropout(0.5), torch.randn(size, requires_grad=True)
    state = torch.get_rng_state()
    y = dropout(x)
    y.sum().backward()
    assert x.grad is not None
    assert torch.allclose(x.grad * x, y)
    assert size < 350 or not torch.equal(dropout(x), y)
    torch.set_rng_state(state)
    assert torch.equal(dropout(x), y)
    assert torch.equal(FastDropout(0.0)(x), x)
    assert torch.equal(dropout.eval()(x), x)
    assert torch.equal(FastDropout(1.0)(x), torch.zeros(size))


def test_a_model_keeps_its_rates_and_its_weights(tiny_bert: Path) -> None:
    model = load_base(str(tiny_bert))
    names = list(model.state_dict())
    rates = [m.p for m in model.modules() if isinstance(m, nn.Dropout)]
    use_fast_dropout(model)
    changed = [m for m in model.modules() if isinstance(m, nn.Dropout)]
    assert all(isinstance(module, FastDropout) for module in changed)
    assert [module.p for module in changed] == rates
    assert list(model.state_dict()) == names
    assert has_dropout(model)
    set_dropout(model, 0.0)
    assert not has_dropout(model)


def test_dropout_can_be_changed_for_every_family(tiny_base: Path, tmp_path: Path) -> None:
    model = load_base(str(tiny_base), "mean").train()

    def noise() -> float:
        once, again = (embedded(model)["sentence_embedding"] for _ in range(2))
        return float((once - again).detach().abs().max())

    set_dropout(model, 0.5)
    assert noise() > 0.01
    set_dropout(model, 0.0)
    assert noise() == 0
    model.save_pretrained(str(tmp_path))
    before, after = (json.loads((f / "config.json").read_text()) for f in (tiny_base, tmp_path))
    rates = {key: value for key, value in before.items() if "dropout" in key}
    assert {key: value for key, value in after.items() if "dropout" in key} == rates


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


@pytest.mark.parametrize("finish", [train_every_position, without_training_modules])
def test_eval_mode_gives_every_position_and_it_can_be_undone(
    tiny_bert: Path, finish: object
) -> None:
    model = load_base(str(tiny_bert), "cls").eval()
    before = embedded(model)["token_embeddings"]
    train_first_position_only(model)
    assert torch.equal(embedded(model)["token_embeddings"], before)
    model.train()
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
