"""Learned tokens of a template: in vocabulary and embedding table, and never typed by a user."""

from __future__ import annotations

from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer

from clusterns.encoder.load import load_base, load_tokenizer
from clusterns.encoder.prompt import prompt_encoder
from clusterns.encoder.training_modules import add_masked_lm_head
from clusterns.views.prompting import TemplateTokens
from clusterns.views.template import Template

TEMPLATE = Template("{sentence} {soft} {soft} {mask}.")


def test_the_template_has_its_tokens_behind_all_others() -> None:
    tokenizer = load_tokenizer("minibert")
    before = len(tokenizer)
    tokens = TemplateTokens.of(TEMPLATE, tokenizer)
    assert len(tokenizer) == before, "the base's own tokenizer was changed"
    stop = tokenizer.convert_tokens_to_ids(".")
    assert tokens.ids == (
        tokenizer.cls_token_id, before, before + 1, tokenizer.mask_token_id, stop,
        tokenizer.sep_token_id,
    )  # fmt: skip
    assert (tokens.slot, tokens.mask) == (1, 3)


def test_a_saved_model_opens_with_its_learned_tokens(tmp_path: Path) -> None:
    model = prompt_encoder("minibert", TEMPLATE)
    table = model.transformers_model.get_input_embeddings().weight
    words = load_base("minibert").transformers_model.get_input_embeddings().weight
    assert len(table) == len(words) + 2
    torch.testing.assert_close(table[: len(words)], words)
    model.save_pretrained(str(tmp_path / "model"))
    opened = SentenceTransformer(str(tmp_path / "model"))
    texts = ["A man is eating", "typed [soft1] and [MASK]"]
    torch.testing.assert_close(
        opened.encode(texts, convert_to_tensor=True), model.encode(texts, convert_to_tensor=True)
    )
    ids = opened.preprocess(texts)["input_ids"]
    assert (ids == len(words)).sum(1).tolist() == [1, 1], "a typed name became the token"
    assert (ids == opened.tokenizer.mask_token_id).sum(1).tolist() == [1, 1]
    with torch.no_grad():  # the learned tokens matter
        opened.transformers_model.get_input_embeddings().weight[-2:] += 1.0
    assert not torch.allclose(
        opened.encode(texts, convert_to_tensor=True), model.encode(texts, convert_to_tensor=True)
    )


def test_the_masked_lm_head_grows_with_the_table() -> None:
    model = prompt_encoder("minibert", TEMPLATE)
    add_masked_lm_head(model, str(Path(load_tokenizer("minibert").name_or_path)))
    bias = model[-1].masked_lm.get_output_embeddings().bias
    assert len(bias) == model.transformers_model.get_input_embeddings().num_embeddings
