"""From the name of a base to a SentenceTransformer that is ready to train."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, get_args

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Module, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from clusterns.encoder.first_position import train_every_position
from clusterns.encoder.locate import MINIBERT as MINIBERT
from clusterns.encoder.locate import is_sentence_transformer as is_sentence_transformer
from clusterns.encoder.locate import minibert_folder as minibert_folder
from clusterns.encoder.locate import resolve_base as resolve_base
from clusterns.encoder.settings import PoolingMode
from clusterns.encoder.training_only import TrainingOnly
from clusterns.errors import UserError


def load_base(name: str | None = None, pooling: PoolingMode = "auto") -> SentenceTransformer:
    """Load a base (see :func:`resolve_base`) as a SentenceTransformer in full precision.

    A base that is a SentenceTransformer already keeps its pooling, normalisation and prompts;
    a plain encoder gets ``pooling`` ("auto": mean).
    """
    assert pooling in get_args(PoolingMode)
    base = resolve_base(name)
    # Half-precision weights stay half otherwise, which is very slow on a CPU.
    kwargs = {"dtype": torch.float32}
    with loading(base):
        if not is_sentence_transformer(base):
            return _pooled(Transformer(base, model_kwargs=kwargs), pooling)
        model = SentenceTransformer(base, model_kwargs=kwargs)
    if pooling != "auto" and pooling_of(model) != pooling:
        raise UserError(
            f"pooling={pooling} does not fit the base {base}, a SentenceTransformer with "
            f"{pooling_of(model) or 'no'} pooling, which is kept: leave pooling at auto."
        )
    return model


def load_tokenizer(name: str | None) -> PreTrainedTokenizerBase:
    """The tokenizer of a base."""
    base = resolve_base(name)
    with loading(base):
        if is_sentence_transformer(base):
            found = SentenceTransformer(base).tokenizer
            # A model of static word vectors has the bare one of the library below, and cuts nothing.
            if isinstance(found, Tokenizer):
                return PreTrainedTokenizerFast(tokenizer_object=found, model_max_length=math.inf)
            return found
        return AutoTokenizer.from_pretrained(base)


@contextmanager
def loading(base: str) -> Iterator[None]:
    """Turn what the libraries say of a broken model into one sentence."""
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"cannot load the base {base}: {reason}") from error


def _pooled(transformer: Transformer, pooling: PoolingMode) -> SentenceTransformer:
    mode = "mean" if pooling == "auto" else pooling
    return SentenceTransformer(
        modules=[transformer, Pooling(transformer.get_embedding_dimension(), mode)]
    )


def pooling_of(model: SentenceTransformer) -> str | None:
    """The pooling mode of a model, or None where it has no pooling module."""
    for module in model:
        if isinstance(module, Pooling):
            mode = module.pooling_mode
            return mode if isinstance(mode, str) else "+".join(mode)
    return None


def without_training_parts(model: SentenceTransformer) -> SentenceTransformer:
    """The model for users: the same modules without the train-only heads, all of them built in."""
    train_every_position(model)
    modules: list[Module] = [m for m in model if not isinstance(m, TrainingOnly)]
    return with_modules(model, modules, model_card_data=model.model_card_data)


def with_modules(
    model: SentenceTransformer, modules: Sequence[nn.Module], **changes: Any
) -> SentenceTransformer:
    """A model of other modules that keeps what else belongs to ``model``: prompts, similarity, where its
    vectors are cut; ``changes`` are arguments of SentenceTransformer."""
    kept = {
        "device": str(model.device),
        "prompts": model.prompts,
        "default_prompt_name": model.default_prompt_name,
        "similarity_fn_name": model.similarity_fn_name,
        "truncate_dim": model.truncate_dim,
    }
    return SentenceTransformer(modules=list(modules), **{**kept, **changes})
