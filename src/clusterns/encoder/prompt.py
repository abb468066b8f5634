"""Prompt-based encoders (PromptBERT): a sentence in a template, with the mask's state as its embedding.

A saved one consists of built-in modules and a tokenizer file, and does not need this package: the
tokenizer writes the template around the sentence, a mask over the tokens hides those on the far
side of the template's mask token, and the pooling takes the last (or first) token that is left.
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
    """A base as a prompt-based SentenceTransformer, not yet trained.

    Args:
        name: a plain encoder, see :func:`clusterns.encoder.locate.resolve_base`.
        template: a template, its text, or the name of a published one.
        seed: see :func:`clusterns.encoder.load.load_base`.
    """
    if isinstance(template, str):
        template, _ = template_pair(template)
    base = resolve_base(name)
    if is_sentence_transformer(base):
        raise UserError(
            f"base {base} is a SentenceTransformer with a pooling of its own. A template goes with "
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
                # All that encode, encode_query and encode_document can mean.
                skiplist_tasks=["query", "document"],
            ),
            Pooling(dimension, pooling),
        ]
    )


def _beyond_the_mask(tokens: TemplateTokens) -> tuple[list[int], Literal["cls", "lasttoken"]]:
    """The tokens between the mask and its end of the template, and the pooling that finds the mask.

    Hiding them may hide more of the sentence, which does not matter.
    """
    if tokens.mask < tokens.slot:
        return sorted(set(tokens.ids[: tokens.mask])), "cls"
    return sorted(set(tokens.ids[tokens.mask + 1 :])), "lasttoken"
