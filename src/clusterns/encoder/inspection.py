"""What a model makes of a text before it encodes it: tokens, template, cut, pooled positions."""

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

from clusterns.encoder.base import pooling_of
from clusterns.errors import UserError

Part = Literal["template", "prompt", "sentence", "unknown"]


@dataclass(frozen=True)
class Piece:
    """One token of the input."""

    token: str
    part: Part
    """Of what it is a part; the tokeniser's own tokens ([CLS], [SEP]) belong to the template, and a
    word that has no vector is unknown."""
    pooled: bool
    """Whether it counts: whether the vector is taken from its state."""


@dataclass(frozen=True)
class Inspection:
    """A text as a model sees it."""

    pieces: tuple[Piece, ...]
    pooling: str
    """How the states of what counts become one vector."""
    limit: int | None
    """Most tokens that the model reads, the template's among them; None: all."""
    cut_tokens: int
    """Tokens of the sentence that the limit cuts off."""
    cut: str
    """The text of those tokens."""

    @property
    def template(self) -> str:
        """The tokens around the sentence, which is shown as one."""
        words = [piece.token for piece in self.pieces]
        sentence = [i for i, piece in enumerate(self.pieces) if piece.part != "template"]
        if sentence:
            words[sentence[0] : sentence[-1] + 1] = ["{sentence}"]
        return " ".join(words)


def inspect_text(model: SentenceTransformer, text: str) -> Inspection:
    """Show how ``model`` tokenises ``text``, what it cuts, and which states become the vector."""
    prompt = model.prompts.get(model.default_prompt_name or "") or ""
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
            "only models of words, of static vectors, or with a fast tokeniser and a pooling module "
            "can be inspected."
        )
    asked = {"return_special_tokens_mask": True, "return_offsets_mapping": True}
    features = model.preprocess([text], prompt=prompt, processing_kwargs={"text": asked})
    ids = features["input_ids"][0].tolist()
    special = features["special_tokens_mask"][0].tolist()
    ends = features["offset_mapping"][0, :, 1].tolist()
    pooled = _pooled_positions(model, features)
    whole = tokenizer(prompt + text, truncation=False, verbose=False)["input_ids"]
    return Inspection(
        pieces=tuple(
            Piece(token, _part(special[i], ends[i], len(prompt)), i in pooled)
            for i, token in enumerate(tokenizer.convert_ids_to_tokens(ids))
        ),
        pooling=_pooling(model),
        limit=model.max_seq_length,
        cut_tokens=len(whole) - len(ids),
        cut=(prompt + text)[max(ends) :].strip() if len(whole) > len(ids) else "",
    )


def _part(special: int, end: int, prompt_length: int) -> Part:
    if special:
        return "template"
    return "prompt" if end <= prompt_length else "sentence"


def _pooled_positions(model: SentenceTransformer, features: dict[str, Any]) -> set[int]:
    """The positions whose states the pooling takes; the encoder itself need not run."""
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
    return {place for mode in modes for place in one.get(mode, positions)}


def _pooling(model: SentenceTransformer) -> str:
    """The pooling in words: over tokens and, where several count, over layers."""
    layers = ""
    for module in model:
        if isinstance(module, WeightedLayerPooling):
            weights = module.layer_weights.tolist()
            used = [str(i + module.layer_start) for i, weight in enumerate(weights) if weight]
            layers = f" over tokens and layers {', '.join(used)} of {module.num_hidden_layers}"
    return f"{pooling_of(model)}{layers}"


def _inspect_words(model: SentenceTransformer, text: str) -> Inspection:
    """A text as averaged word vectors see it: words with a vector count."""
    tokenizer = model.tokenizer
    words = list(tokenizer.get_vocab())
    pieces = []
    for word in text.split():
        known = tokenizer.tokenize(word)
        pieces.append(Piece(words[known[0]] if known else word, "sentence" if known else "unknown",
                            bool(known)))  # fmt: skip
    return Inspection(tuple(pieces), _pooling(model), model.max_seq_length, 0, "")
