"""Tokenizers that wrap every sentence in a template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Regex, Tokenizer
from tokenizers.normalizers import Normalizer, Prepend, Replace, Strip
from tokenizers.normalizers import Sequence as Normalizers
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from clusterns.errors import UserError
from clusterns.views.template import MASK, SENTENCE, SOFT, Template

SLOTS = "(" + "|".join(map(re.escape, (SENTENCE, MASK, SOFT))) + ")"
# PromptBERT's rule at test time: a sentence that does not end in one of . ? " ' gets a full stop.
FULL_STOP = Replace(Regex(r"""(?<=[^.?"'])\z"""), ".")


@dataclass(frozen=True)
class TemplateTokens:
    """A template as tokens, including the tokenizer's own at both ends ([CLS], [SEP])."""

    ids: tuple[int, ...]
    """All tokens except the sentence's."""
    slot: int
    """Index of the token before which the sentence is inserted."""
    mask: int
    """Index of the mask."""

    @classmethod
    def of(cls, template: Template, tokenizer: PreTrainedTokenizerBase) -> TemplateTokens:
        """Tokenize a template; text that looks like a special token remains text."""
        tokenizer = with_soft_tokens(tokenizer, template)
        first, last = _frame(tokenizer)
        mask_id, soft = tokenizer.mask_token_id, iter(template.soft_tokens)
        mask = tokenizer.added_tokens_decoder[mask_id]
        ids, slot = [*first], 0
        pieces = ["", *re.split(SLOTS, template.text), ""]
        for before, piece, after in zip(pieces, pieces[1:], pieces[2:], strict=False):
            if piece == SENTENCE:
                slot = len(ids)
            elif piece == MASK:
                ids.append(mask_id)
            elif piece == SOFT:
                ids.append(tokenizer.convert_tokens_to_ids(next(soft)))
            else:
                # As in running text: some mask tokens swallow adjacent spaces, and in byte-level
                # tokenizers, a space before the sentence belongs to the sentence.
                if SOFT in (before, after):
                    piece = piece.strip()
                if after == SENTENCE or (after == MASK and mask.lstrip):
                    piece = piece.rstrip()
                if before == MASK and mask.rstrip:
                    piece = piece.lstrip()
                ids += _plain_ids(piece, tokenizer)
        return cls((*ids, *last), slot, ids.index(mask_id))

    def __len__(self) -> int:
        return len(self.ids)


def _frame(tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    """The tokens that the tokenizer puts before and after any text."""
    encoded = tokenizer("a", return_special_tokens_mask=True)
    ids, special = encoded["input_ids"], encoded["special_tokens_mask"]
    start = special.index(0)
    end = len(ids) - special[::-1].index(0)
    return ids[:start], ids[end:]


def with_soft_tokens(
    tokenizer: PreTrainedTokenizerBase, template: Template
) -> PreTrainedTokenizerBase:
    """Copy ``tokenizer`` and append the template's learned tokens to the vocabulary.

    They are special tokens, which a sentence cannot contain. Without learned tokens, return the
    original tokenizer.
    """
    if not template.soft_tokens:
        return tokenizer
    known = deepcopy(tokenizer)
    known.add_tokens(template.soft_tokens, special_tokens=True)
    return known


def _plain_ids(text: str, tokenizer: PreTrainedTokenizerBase, escape: bool = True) -> list[int]:
    """Tokenize a text without special tokens."""
    for token, escaped in _escapes(tokenizer).items() if escape else ():
        text = text.replace(token, escaped)
    return tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]


def _escapes(tokenizer: PreTrainedTokenizerBase) -> dict[str, str]:
    """Replacements for special tokens that the vocabulary recognizes even in split text, as
    SentencePiece does."""
    special = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id}
    return {
        token: f"{token[0]} {token[1:]}"
        for token in tokenizer.all_special_tokens
        if special & {*_plain_ids(token, tokenizer, escape=False)}
    }


def templated_tokenizer(
    tokenizer: PreTrainedTokenizerBase, template: Template, *, full_stop: bool
) -> PreTrainedTokenizerFast:
    """Copy ``tokenizer`` so that it wraps every sentence in ``template``.

    Everything is saved in the tokenizer's own file, which loads without this package. The template is
    the post-processor, so truncation counts the template's tokens but shortens only the sentence.

    Args:
        tokenizer: the tokenizer of a plain encoder.
        template: the text around the sentence.
        full_stop: append the full stop that PromptBERT adds at test time.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise UserError(f"a template needs a fast tokenizer, not {type(tokenizer).__name__}.")
    if tokenizer.mask_token is None:
        raise UserError("a template needs a base whose tokenizer has a mask token.")
    tokenizer = with_soft_tokens(tokenizer, template)
    tokens = TemplateTokens.of(template, tokenizer)
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    steps: list[Normalizer] = [Strip()]
    if full_stop:
        steps.append(FULL_STOP)
    if template.text.partition(SENTENCE)[0][-1:].isspace():
        steps.append(Prepend(" "))
    if backend.normalizer is not None:
        steps.append(backend.normalizer)
    steps += [Replace(token, escaped) for token, escaped in _escapes(tokenizer).items()]
    backend.normalizer = Normalizers(steps)
    backend.post_processor = _post_processor(tokens, tokenizer)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        split_special_tokens=True,
        model_max_length=tokenizer.model_max_length,
        model_input_names=tokenizer.model_input_names,
        padding_side=tokenizer.padding_side,
        **tokenizer.special_tokens_map,
    )


def _post_processor(
    tokens: TemplateTokens, tokenizer: PreTrainedTokenizerBase
) -> TemplateProcessing:
    """The template as two "special tokens", each with many ids, around the sentence."""
    sides = {"before": tokens.ids[: tokens.slot], "after": tokens.ids[tokens.slot :]}
    return TemplateProcessing(
        single="before $A after",
        pair="before $A $B after",
        special_tokens=[
            {"id": name, "ids": list(ids), "tokens": tokenizer.convert_ids_to_tokens(list(ids))}
            for name, ids in sides.items()
        ],
    )


class TemplatedViews:
    """Tokenize the views of a training batch, each in its own template, without the full stop.

    It is a ``preprocess_fn`` for the data collator of Sentence Transformers: the column's prompt is
    the template's text, and ``max_length`` counts the tokens of the sentence alone.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, templates: Iterable[Template], limit: int
    ) -> None:
        self.limit = limit
        self.tokenizers = {
            template.text: templated_tokenizer(tokenizer, template, full_stop=False)
            for template in templates
        }

    def __call__(
        self, inputs: Sequence[str], prompt: str, max_length: int, **kwargs: Any
    ) -> dict[str, Any]:
        """Tokenize one column."""
        tokenizer = self.tokenizers[prompt]
        template_length = tokenizer.num_special_tokens_to_add()
        rows = tokenizer(
            list(inputs),
            padding=True,
            truncation=True,
            max_length=min(self.limit, template_length + max_length),
            return_tensors="pt",
            return_special_tokens_mask=True,
        )
        # The template's index, repeated at every token so that it is sorted and truncated with the
        # rows. It is for the denoising; the encoder never receives it.
        number = list(self.tokenizers).index(prompt)
        return {**rows, "template": torch.full_like(rows["input_ids"], number)}
