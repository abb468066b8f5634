from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Pooling,
    StaticEmbedding,
    WordEmbeddings,
)
from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from clusterns.encoder.inspect import Piece, inspect_text
from clusterns.encoder.load import averaged_encoder, load_base
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


def test_a_prompt_that_the_pooling_leaves_out(tiny_bert: Path) -> None:
    plain = load_base(str(tiny_bert), "mean")
    pooling = Pooling(plain.get_embedding_dimension(), "mean", include_prompt=False)
    model = SentenceTransformer(
        modules=[plain[0], pooling], prompts={"query": "find this: "}, default_prompt_name="query"
    )
    pieces = inspect_text(model, "one two").pieces
    assert [piece.token for piece in pieces if piece.part == "prompt"] == ["find", "this", ":"]
    assert [piece.token for piece in pieces if piece.pooled] == ["one", "two", "[SEP]"]


def test_what_is_cut_is_shown(tiny_bert: Path) -> None:
    model = prompt_encoder(str(tiny_bert), "bert")
    seen = inspect_text(model, "one " * 54 + "two two.")
    assert len(seen.pieces) == seen.limit == 64
    assert (seen.cut, seen.cut_tokens) == ("two two.", 3)


ALL = ["[CLS]", "one", "two", "[SEP]"]


@pytest.mark.parametrize(
    ("pooling", "said", "counted"),
    [
        ("mean", "mean", ALL),
        ("max", "max", ALL),
        ("cls", "cls", ALL[:1]),
        ("lasttoken", "lasttoken", ALL[-1:]),
        (("cls", "lasttoken"), "cls+lasttoken", ["[CLS]", "[SEP]"]),
        ("first-last-avg", "mean over tokens and layers 1, 2 of 2", ALL),
        ("embedding-avg", "mean over tokens and layers 0 of 2", ALL),
    ],
)
def test_poolings_in_words(tiny_bert: Path, pooling: Any, said: str, counted: list[str]) -> None:
    if isinstance(pooling, tuple):
        plain = load_base(str(tiny_bert))
        modules = [plain[0], Pooling(plain.get_embedding_dimension(), pooling)]
        model = SentenceTransformer(modules=modules)
    else:
        model = averaged_encoder(str(tiny_bert), pooling)
    assert inspect_text(model, "one two").pooling == said
    assert pooled_tokens(model, "one two") == counted


def test_word_vectors_show_which_words_they_know() -> None:
    words = WordEmbeddings(
        WhitespaceTokenizer(["pad", "one", "two"], stop_words=()), torch.zeros(3, 3)
    )
    seen = inspect_text(SentenceTransformer(modules=[words, Pooling(3)]), "One, nine two")
    assert seen.pieces == (
        Piece("one", "sentence", True),
        Piece("nine", "unknown", False),
        Piece("two", "sentence", True),
    )
    assert seen.pooling == "mean"


def test_words_beyond_the_limit_are_cut_and_not_pooled() -> None:
    tokenizer = WhitespaceTokenizer(["pad", "one", "two"], stop_words=())
    words = WordEmbeddings(tokenizer, torch.eye(3), max_seq_length=2)
    model = SentenceTransformer(modules=[words, Pooling(3)])
    seen = inspect_text(model, "one nine two ten one two")
    assert [piece.token for piece in seen.pieces if piece.pooled] == ["one", "two"]
    assert (seen.limit, seen.cut_tokens, seen.cut) == (2, 2, "one two")
    assert model.encode("one nine two ten one two").tolist() == [0, 0.5, 0.5]


def test_static_vectors() -> None:
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "one": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=3)])
    assert pooled_tokens(model, "one nine") == ["one", "[UNK]"]
    assert inspect_text(model, "one").pooling == "mean of static vectors"


def test_a_model_without_a_pooling_is_refused(tiny_bert: Path) -> None:
    plain = load_base(str(tiny_bert), "mean")
    with pytest.raises(UserError, match="cannot be inspected"):
        inspect_text(SentenceTransformer(modules=[plain[0]]), "one")
