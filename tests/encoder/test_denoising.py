from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor
from transformers import AutoTokenizer

from clusterns.encoder.denoising import Denoising, add_denoising, bare_states
from clusterns.encoder.prompt import prompt_encoder
from clusterns.encoder.speed import set_dropout
from clusterns.encoder.training_modules import (
    add_masked_lm_head,
    add_training_head,
    training_modules_active,
    without_training_modules,
)
from clusterns.losses.clusterns import ClusterNSLoss
from clusterns.losses.features import stack_views
from clusterns.losses.masked_lm import MaskedLanguageModelling
from clusterns.views.prompting import TemplatedViews, TemplateTokens
from clusterns.views.template import template_pair
from tests.helpers.models import make_tiny_base

TEXTS = [
    "a cat sat on the mat",
    "dogs",
    "the river runs through the old town to the sea and on it goes for ever and ever",
    "they typed this sentence of [MASK] there",
    "one two",
    "two dogs",
]
PAIRS = [
    template_pair("bert"),
    template_pair("roberta"),
    # The rows of these two are told apart by nothing but what is template and what is sentence.
    template_pair("{sentence} means {mask}.", "This sentence of {sentence} means {mask}."),
    template_pair("{mask} : {sentence} it is"),
    # And of these by where the sentence stands.
    template_pair("{sentence} it means {mask}.", "it {sentence} means {mask}."),
]


def prompt_model(base: Path, pair: Any) -> SentenceTransformer:
    """A denoised prompt model in double precision; dropout is on in train mode."""
    model = prompt_encoder(str(base), pair[0])
    add_denoising(model, str(base), pair)
    return model.double()


def columns(base: Path, pair: Any) -> list[dict[str, Tensor]]:
    views = TemplatedViews(AutoTokenizer.from_pretrained(base), pair, limit=64)
    return [views(TEXTS, template.text, max_length=9) for template in pair]


def without_dropout(model: SentenceTransformer) -> SentenceTransformer:
    """Train mode, and yet the same numbers every time."""
    set_dropout(model, 0.0)
    return model.train()


def naive(model: SentenceTransformer, base: Path, pair: Any) -> Tensor:
    """Row by row: the mask state, minus that of the bare template with shifted position ids."""
    tokenizer = AutoTokenizer.from_pretrained(base)
    encoder = model[0].model
    table = getattr(encoder.embeddings, "position_embeddings", None)
    first = 0 if table is None or table.padding_idx is None else table.padding_idx + 1
    vectors = []
    for template in pair:
        tokens = TemplateTokens.of(template, tokenizer)
        for text in TEXTS:
            # Typed special tokens apart, so that the naive tokenizer needs no escape.
            ids = tokenizer(text.replace("[MASK]", "[ MASK ]"), add_special_tokens=False)
            sentence = ids["input_ids"][:9]
            row = [*tokens.ids[: tokens.slot], *sentence, *tokens.ids[tokens.slot :]]
            state = encoder(input_ids=torch.tensor([row])).last_hidden_state[0]
            shifted = [
                first + i + (len(sentence) if i >= tokens.slot else 0) for i in range(len(tokens))
            ]
            bare = encoder(
                input_ids=torch.tensor([tokens.ids]), position_ids=torch.tensor([shifted])
            ).last_hidden_state[0, tokens.mask]
            vectors.append(state[row.index(tokenizer.mask_token_id)] - bare)
    return torch.stack(vectors)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "modernbert"])
def test_denoising_equals_a_naive_loop_over_the_rows(
    family: str, pair: Any, tmp_path: Path
) -> None:
    base = make_tiny_base(family, tmp_path)
    model = without_dropout(prompt_model(base, pair))
    assert model[1].shifted
    expected = naive(model, base, pair)
    weights = torch.randn_like(expected)
    (expected * weights).sum().backward()
    gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()

    ours = model(stack_views(columns(base, pair)))["sentence_embedding"]
    torch.testing.assert_close(ours, expected, atol=1e-6, rtol=0)
    (ours * weights).sum().backward()
    assert gradients
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            torch.testing.assert_close(parameter.grad, gradients[name], atol=1e-6, rtol=1e-6)


def test_a_family_with_relative_positions_is_denoised_too(tmp_path: Path) -> None:
    """MPNet's relative positions ignore position ids: a hidden sentence is the only way."""
    base = make_tiny_base("mpnet", tmp_path)
    pair = template_pair("bert")
    model = without_dropout(prompt_encoder(str(base), pair[0]).double())
    # As strong as in a trained model.
    model[0].model.encoder.relative_attention_bias.weight.data *= 100
    add_denoising(model, str(base), pair)
    tokens = TemplateTokens.of(pair[0], AutoTokenizer.from_pretrained(base))
    word = 100
    row = [*tokens.ids[: tokens.slot], *[word] * 6, *tokens.ids[tokens.slot :]]
    seen = [i not in range(tokens.slot, tokens.slot + 6) for i in range(len(row))]
    expected = model[0].model(
        input_ids=torch.tensor([row]), attention_mask=torch.tensor([seen]).long()
    )
    assert not model[1].shifted
    bare = bare_states(model[0], tokens, torch.tensor([6]), shifted=model[1].shifted)
    torch.testing.assert_close(bare[0], expected.last_hidden_state[0, tokens.mask + 6])


def test_each_length_of_the_batch_runs_once(tiny_bert: Path) -> None:
    pair = template_pair("bert")
    model = prompt_model(tiny_bert, pair).train()
    calls: list[int] = []
    model[0].register_forward_hook(lambda _, args, __: calls.append(len(args[0]["input_ids"])))
    rows = stack_views(columns(tiny_bert, pair))
    lengths = {int(n) for n in rows["attention_mask"].sum(1)}
    model(rows)
    assert calls == [len(TEXTS) * 2, len(lengths), len(lengths)]


def test_only_the_bare_template_is_spared_the_dropout(tiny_bert: Path) -> None:
    pair = template_pair("bert")
    rows = columns(tiny_bert, pair)[0]
    vectors = {}
    for denoising in ("none", "clean", "dropout"):
        model = prompt_encoder(str(tiny_bert), pair[0]).double()
        if denoising != "none":
            add_denoising(model, str(tiny_bert), pair, dropout=denoising == "dropout")
        torch.manual_seed(5)
        vectors[denoising] = model.train()(dict(rows))["sentence_embedding"]
        assert model[0].training
    tokens = TemplateTokens.of(pair[0], AutoTokenizer.from_pretrained(tiny_bert))
    lengths = rows["attention_mask"].sum(1) - len(tokens)
    bare = bare_states(model[0].eval(), tokens, lengths, shifted=True)
    torch.testing.assert_close(vectors["clean"], vectors["none"] - bare)
    assert not torch.allclose(vectors["dropout"], vectors["none"] - bare, atol=1e-2)


def test_at_test_there_is_no_denoising_and_training_vectors_can_be_asked_for(
    tiny_bert: Path,
) -> None:
    plain = prompt_encoder(str(tiny_bert), "bert").double()
    model = prompt_model(tiny_bert, template_pair("bert"))
    vectors = plain.encode(TEXTS, convert_to_tensor=True)
    assert torch.equal(model.encode(TEXTS, convert_to_tensor=True), vectors)
    with training_modules_active(model):
        denoised = model.encode(TEXTS, convert_to_tensor=True)
    tokens = model[1].tokens[0]
    for text, before, after in zip(TEXTS, vectors, denoised, strict=True):
        length = len(model.tokenizer(text)["input_ids"]) - len(tokens)
        with torch.no_grad():
            (bare,) = bare_states(model[0], tokens, torch.tensor([length]), shifted=True)
        torch.testing.assert_close(after, before - bare)
    final = without_training_modules(model)
    assert [type(m).__name__ for m in final] == ["Transformer", "MultiVectorMask", "Pooling"]
    assert torch.equal(final.encode(TEXTS, convert_to_tensor=True), vectors)


def test_clusterns_and_masked_lm_train_on_every_family(tiny_base: Path) -> None:
    pair = template_pair("bert")
    model = prompt_encoder(str(tiny_base), pair[0])
    add_training_head(model)
    add_denoising(model, str(tiny_base), pair)
    add_masked_lm_head(model, str(tiny_base))
    loss = ClusterNSLoss(
        model, clusters=2, start_step=1, mini_batch_size=8,
        masked_lm=MaskedLanguageModelling(model.tokenizer, 0.5),
    )  # fmt: skip
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(0)
    for _ in range(3):
        optimizer.zero_grad()
        value = loss(columns(tiny_base, pair))
        value.backward()
        optimizer.step()
    without = [n for n, p in model.named_parameters() if p.grad is None and "pooler" not in n]
    assert without == []
    assert value.isfinite()
    assert loss.clustering.started_at is not None


def test_a_checkpoint_keeps_the_templates(tiny_bert: Path, tmp_path: Path) -> None:
    model = prompt_encoder(str(tiny_bert), "bert")
    add_denoising(model, str(tiny_bert), template_pair("bert"), dropout=True)
    model.save_pretrained(str(tmp_path))
    (folder,) = tmp_path.glob("*_Denoising")
    loaded = Denoising.load(str(tmp_path), subfolder=folder.name)
    assert (loaded.tokens, loaded.dropout) == (model[1].tokens, True)
