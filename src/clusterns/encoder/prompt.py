"""Prompt-based encoders (PromptBERT): the embedding of a sentence is the mask state of a template.

A saved encoder consists of built-in modules and a tokenizer file and does not need this package: the
tokenizer adds the template around the sentence, a mask over the tokens hides those beyond the
template's mask token, and the pooling takes the last (or first) remaining token.
"""

from __future__ import annotations

from typing import Literal

from sentence_transformers import SentenceTransformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Pooling

from clusterns.encoder.load import load_base
from clusterns.encoder.locate import is_sentence_transformer, resolve_base
from clusterns.errors import UserError
from clusterns.views.prompting import TemplateTokens, templated_tokenizer
from clusterns.views.template import Template, template_pair


def prompt_encoder(
    name: str | None, template: Template | str, *, seed: int | None = 0
) -> SentenceTransformer:
    """Turn a base into a prompt-based SentenceTransformer, not yet trained.

    Args:
        name: a plain encoder, see :func:`clusterns.encoder.locate.resolve_base`.
        template: a template, its text, or the name of a published template.
        seed: see :func:`clusterns.encoder.load.load_base`.
    """
    if isinstance(template, str):
        template, _ = template_pair(template)
    base = resolve_base(name)
    if is_sentence_transformer(base):
        raise UserError(
            f"base {base} is a SentenceTransformer with its own pooling. A template needs "
            "a plain encoder."
        )
    transformer = load_base(base, seed=seed)[0]
    plain = transformer.tokenizer
    transformer.processor = templated_tokenizer(plain, template, full_stop=True)
    if template.soft_tokens:
        transformer.model.resize_token_embeddings(len(transformer.processor))
    tokens = TemplateTokens.of(template, plain)
    if transformer.max_seq_length <= len(tokens):
        raise UserError(
            f"the template {template.text!r} has {len(tokens)} tokens and leaves no room for a "
            f"sentence: {base} reads {transformer.max_seq_length} tokens. Shorten the template."
        )
    dimension = transformer.get_embedding_dimension()
    hidden, pooling = _beyond_the_mask(tokens)
    return SentenceTransformer(
        modules=[
            transformer,
            MultiVectorMask(
                transformer.tokenizer.convert_ids_to_tokens(hidden),
                # All tasks of encode, encode_query and encode_document.
                skiplist_tasks=["query", "document"],
            ),
            Pooling(dimension, pooling),
        ]
    )


def _beyond_the_mask(tokens: TemplateTokens) -> tuple[list[int], Literal["cls", "lasttoken"]]:
    """The tokens beyond the mask, up to the end of the template, and the pooling that selects the mask.

    Hiding these tokens may also hide parts of the sentence, which is harmless.
    """
    if tokens.mask < tokens.slot:
        return sorted(set(tokens.ids[: tokens.mask])), "cls"
    return sorted(set(tokens.ids[tokens.mask + 1 :])), "lasttoken"
