"""How a model sees a text: tokens, template, truncation and pooled positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sentence_transformers import SentenceTransformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer.modules import (
    Pooling,
    StaticEmbedding,
    WeightedLayerPooling,
    WordEmbeddings,
)

from clusterns.encoder.load import default_prompt, pooling_of
from clusterns.errors import UserError

Part = Literal["template", "prompt", "sentence", "unknown"]


@dataclass(frozen=True)
class Piece:
    """One token of the input."""

    token: str
    part: Part
    """Part of the input. The tokenizer's own tokens ([CLS], [SEP]) belong to the template; a
    word without a vector is unknown."""
    pooled: bool
    """Whether the pooling uses it."""


@dataclass(frozen=True)
class Inspection:
    """A text as a model sees it."""

    pieces: tuple[Piece, ...]
    pooling: str
    """How the states of the pooled tokens are combined into one vector."""
    limit: int | None
    """Maximum number of tokens that the model reads, including the template. None: no limit."""
    cut_tokens: int
    """Number of sentence tokens that are truncated."""
    cut: str
    """The text of those tokens."""

    @property
    def template(self) -> str:
        """The template's tokens, with the sentence as a placeholder."""
        words = [piece.token for piece in self.pieces]
        sentence = [i for i, piece in enumerate(self.pieces) if piece.part != "template"]
        if sentence:
            words[sentence[0] : sentence[-1] + 1] = ["{sentence}"]
        return " ".join(words)


def inspect_text(model: SentenceTransformer, text: str) -> Inspection:
    """Show how ``model`` tokenizes ``text``, what it truncates, and which states are pooled."""
    prompt = default_prompt(model)
    first = model[0]
    if isinstance(first, WordEmbeddings):
        return _inspect_words(model, prompt + text)
    if isinstance(first, StaticEmbedding):
        tokens = first.tokenizer.encode(prompt + text, add_special_tokens=False).tokens
        pieces = tuple(Piece(token, "sentence", True) for token in tokens)
        return Inspection(pieces, "mean of static vectors", None, 0, "")
    tokenizer = model.tokenizer
    if not getattr(tokenizer, "is_fast", False) or pooling_of(model) is None:
        raise UserError(
            "this model cannot be inspected: it needs word vectors, static vectors, or a fast "
            "tokenizer and a pooling module."
        )
    requested = {"return_special_tokens_mask": True, "return_offsets_mapping": True}
    features = model.preprocess([text], prompt=prompt, processing_kwargs={"text": requested})
    ids = features["input_ids"][0].tolist()
    special = features["special_tokens_mask"][0].tolist()
    ends = features["offset_mapping"][0, :, 1].tolist()
    pooled = _pooled_positions(model, features)
    untruncated = tokenizer(prompt + text, truncation=False, verbose=False)["input_ids"]
    return Inspection(
        pieces=tuple(
            Piece(token, _part(special[i], ends[i], len(prompt)), i in pooled)
            for i, token in enumerate(tokenizer.convert_ids_to_tokens(ids))
        ),
        pooling=_pooling(model),
        limit=model.max_seq_length,
        cut_tokens=len(untruncated) - len(ids),
        cut=(prompt + text)[max(ends) :].strip() if len(untruncated) > len(ids) else "",
    )


def _part(special: int, end: int, prompt_length: int) -> Part:
    if special:
        return "template"
    return "prompt" if end <= prompt_length else "sentence"


def _pooled_positions(model: SentenceTransformer, features: dict[str, Any]) -> set[int]:
    """The pooled positions, without running the encoder."""
    for module in model:
        if isinstance(module, MultiVectorMask):
            features = module(dict(features))
        if isinstance(module, Pooling):
            break
    positions: list[int] = features["attention_mask"][0].nonzero().squeeze(1).tolist()
    if not module.include_prompt:
        positions = [i for i in positions if i >= features.get("prompt_length", 0)]
    modes = [module.pooling_mode] if isinstance(module.pooling_mode, str) else module.pooling_mode
    one = {"cls": positions[:1], "lasttoken": positions[-1:]}
    return {position for mode in modes for position in one.get(mode, positions)}


def _pooling(model: SentenceTransformer) -> str:
    """Describe the pooling over tokens and, if there are several, over layers."""
    layers = ""
    for module in model:
        if isinstance(module, WeightedLayerPooling):
            weights = module.layer_weights.tolist()
            used = [str(i + module.layer_start) for i, weight in enumerate(weights) if weight]
            layers = f" over tokens and layers {', '.join(used)} of {module.num_hidden_layers}"
    return f"{pooling_of(model)}{layers}"


def _inspect_words(model: SentenceTransformer, text: str) -> Inspection:
    """Inspect a text for averaged word vectors: the first known words up to the limit are pooled."""
    tokenizer, limit = model.tokenizer, model.max_seq_length
    names = list(tokenizer.get_vocab())
    words = text.split()
    known = [tokenizer.tokenize(word) for word in words]
    read = [i for i, ids in enumerate(known) if ids]
    end = len(words) if limit is None or len(read) <= limit else read[limit]
    pieces = tuple(
        Piece(names[ids[0]], "sentence", True) if ids else Piece(word, "unknown", False)
        for word, ids in zip(words[:end], known[:end], strict=True)
    )
    cut = sum(i >= end for i in read)
    return Inspection(pieces, _pooling(model), limit, cut, " ".join(words[end:]))
