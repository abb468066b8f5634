from __future__ import annotations

from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, WordEmbeddings
from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

from clusterns.encoder.base import load_base
from clusterns.encoder.inspection import inspect_text
from clusterns.encoder.prompt import prompt_encoder
from clusterns.errors import UserError


def pooled_tokens(model: SentenceTransformer, text: str) -> list[str]:
    return [piece.token for piece in inspect_text(model, text).pieces if piece.pooled]


def test_a_prompt_model_shows_template_sentence_and_mask(tiny_bert: Path) -> None:
    seen = inspect_text(prompt_encoder(str(tiny_bert), "bert"), "one [MASK] two")
    assert seen.template == '[CLS] this sentence of " {sentence} " means [MASK] . [SEP]'
    parts = [piece.part for piece in seen.pieces]
    assert parts[:5] == ["template"] * 5
    assert parts[-5:] == ["template"] * 5
    assert set(parts[5:-5]) == {"sentence"}
    assert [i for i, piece in enumerate(seen.pieces) if piece.pooled] == [len(parts) - 3]
    assert (seen.cut_tokens, seen.cut, seen.limit) == (0, "", 64)


@pytest.mark.parametrize("template", ["bert", "{mask} is {sentence}", "{sentence} {mask}"])
def test_the_pooled_position_is_the_one_whose_state_is_the_vector(
    tiny_bert: Path, template: str
) -> None:
    model = prompt_encoder(str(tiny_bert), template)
    text = "the old town"
    (place,) = [i for i, piece in enumerate(inspect_text(model, text).pieces) if piece.pooled]
    states = model.encode(text, output_value="token_embeddings")
    torch.testing.assert_close(states[place], model.encode(text, convert_to_tensor=True))


def test_other_poolings_too(tiny_bert: Path) -> None:
    plain = load_base(str(tiny_bert), "mean")
    assert pooled_tokens(plain, "one two") == ["[CLS]", "one", "two", "[SEP]"]
    assert pooled_tokens(load_base(str(tiny_bert), "cls"), "one two") == ["[CLS]"]
    width = plain.get_embedding_dimension()
    last = SentenceTransformer(modules=[plain[0], Pooling(width, "lasttoken")])
    assert pooled_tokens(last, "one two") == ["[SEP]"]
    without_prompt = SentenceTransformer(
        modules=[plain[0], Pooling(width, "mean", include_prompt=False)],
        prompts={"query": "find this: "},
        default_prompt_name="query",
    )
    seen = inspect_text(without_prompt, "one two")
    assert [piece.token for piece in seen.pieces if piece.part == "prompt"] == ["find", "this", ":"]
    assert [piece.token for piece in seen.pieces if piece.pooled] == ["one", "two", "[SEP]"]


def test_what_is_cut_is_shown(tiny_bert: Path) -> None:
    model = prompt_encoder(str(tiny_bert), "bert")
    seen = inspect_text(model, "one " * 54 + "two two.")
    assert len(seen.pieces) == seen.limit == 64
    assert (seen.cut, seen.cut_tokens) == ("two two.", 3)


def test_a_model_without_such_tokens_is_refused() -> None:
    words = WordEmbeddings(WhitespaceTokenizer(["pad", "one"]), torch.zeros(2, 3))
    with pytest.raises(UserError, match="fast tokenizer"):
        inspect_text(SentenceTransformer(modules=[words, Pooling(3)]), "one")
