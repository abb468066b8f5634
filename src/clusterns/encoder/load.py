"""Load models: the single entry point, seeded, in the requested precision, from safetensors only.

Models are built from Sentence Transformers modules, so that a saved model loads without this package.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, cast, get_args

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Module, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling, WeightedLayerPooling
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from clusterns.encoder.locate import (
    check_model,
    fetch_revision,
    is_sentence_transformer,
    refuse_pickles,
    resolve_base,
    resolve_model,
)
from clusterns.encoder.settings import Average, DType, PoolingMode
from clusterns.encoder.word_vectors import load_word_vectors
from clusterns.errors import UserError, one_line

# Otherwise, half-precision weights would stay in half precision, which is slow and less exact on a CPU.
MODEL_KWARGS: dict[str, Any] = {"dtype": torch.float32, "use_safetensors": True}
# The layers whose states are averaged; 0 is the static embeddings, 1 the output of the first layer.
# The "average of BERT" of published tables is embedding-last-avg; whitening uses first-last-avg.
LAYERS = {"first-last-avg": (1, -1), "embedding-last-avg": (0, -1), "embedding-avg": (0,)}


def load_model(
    name: str,
    pooling: str | None = None,
    max_length: int | None = None,
    device: str | None = None,
    *,
    dtype: DType = "float32",
    prompt_name: str | None = None,
    truncate_dim: int | None = None,
) -> SentenceTransformer:
    """Open MODEL for encoding.

    Args:
        name: a run folder, the folder or Hub name of a SentenceTransformer or of a plain
            Transformers encoder, or a text file of word vectors.
        pooling: pooling of a plain encoder; required for it, refused for other models.
        max_length: maximum number of tokens per text. None: the model's own.
        device: device to run on. None: the best one available.
        dtype: type of the weights and of the computation.
        prompt_name: prompt to prepend to each text. None: the model's default.
        truncate_dim: dimensions to truncate embeddings to. None: the model's own.
    """
    if device is not None:
        check_devices([device])
    check_model(name, pooling)
    if Path(name).is_file():
        model = load_word_vectors(Path(name))
    else:
        model = _open(resolve_model(name), pooling, device)
    if max_length is not None:
        limit = position_limit(model)
        if limit is not None and max_length > limit:
            raise UserError(
                f"--max-length {max_length}: {name} has positions for only {limit} tokens. Use at most "
                f"{limit}."
            )
        model.max_seq_length = max_length
    if prompt_name is not None:
        if prompt_name not in model.prompts:
            known = ", ".join(model.prompts) or "none"
            raise UserError(f"--prompt-name {prompt_name}: the prompts of {name} are {known}.")
        model.default_prompt_name = prompt_name
        model.prompts["document"] = model.prompts[prompt_name]
    if truncate_dim is not None:
        dimension = model.get_embedding_dimension()
        if dimension is not None and truncate_dim > dimension:
            raise UserError(
                f"--truncate-dim {truncate_dim}: the embeddings of {name} have {dimension} dimensions."
            )
        model.truncate_dim = truncate_dim
    return model.to(getattr(torch, dtype)).eval()


def load_base(
    name: str | None = None, pooling: PoolingMode = "auto", *, seed: int | None = 0
) -> SentenceTransformer:
    """Load a base as a SentenceTransformer in full precision.

    A base that is already a SentenceTransformer keeps its pooling, normalization and prompts;
    a plain encoder gets ``pooling`` ("auto": mean).

    Args:
        name: see :func:`clusterns.encoder.locate.resolve_base`.
        pooling: auto, cls or mean.
        seed: random seed for weights that the checkpoint lacks (often BERT's pooler). None: draw them from
            PyTorch's generator in its current state.
    """
    known = get_args(PoolingMode)
    if pooling not in known:
        raise UserError(f"pooling={pooling} does not exist. Choose one of {', '.join(known)}.")
    base = resolve_base(name)
    if not is_sentence_transformer(base):
        return _open(base, "mean" if pooling == "auto" else pooling, seed=seed)
    model = _open(base, None, seed=seed)
    if pooling != "auto" and pooling_of(model) != pooling:
        raise UserError(
            f"pooling={pooling} does not fit the base {base}, a SentenceTransformer with "
            f"{pooling_of(model) or 'no'} pooling, which is kept. Leave pooling at auto."
        )
    return model


def averaged_encoder(name: str | None, average: Average) -> SentenceTransformer:
    """A base with its token states averaged; only the encoder of a SentenceTransformer is used.

    Args:
        name: see :func:`clusterns.encoder.locate.resolve_base`.
        average: cls and lasttoken take one token's last state, mean and max pool the last states of
            all tokens; the others average over tokens and layers (``LAYERS``).
    """
    encoder = load_base(name)[0]
    if not isinstance(encoder, Transformer):
        raise UserError(
            f"base {name} starts with a {type(encoder).__name__}, which has no token states to "
            "average. Choose a Transformers encoder."
        )
    return SentenceTransformer(modules=[encoder, *pooling_modules(encoder, average)])


def length_limit(model: SentenceTransformer) -> int | None:
    """The maximum number of tokens that a model reads per text; None if there is no limit."""
    limit = getattr(model, "max_seq_length", None)
    return None if limit is None or math.isinf(limit) else int(limit)


def load_tokenizer(name: str | None) -> PreTrainedTokenizerBase:
    """The tokenizer of a base."""
    base = resolve_base(name)
    if not is_sentence_transformer(base):
        with _load_errors(base):
            return AutoTokenizer.from_pretrained(fetch_revision(base))
    return tokenizer_of(_open(base, None))


def tokenizer_of(model: SentenceTransformer) -> PreTrainedTokenizerBase:
    """The tokenizer of a model."""
    found = model.tokenizer
    # A model of static vectors has a bare tokenizer of the tokenizers library and does not truncate.
    if isinstance(found, Tokenizer):
        return PreTrainedTokenizerFast(tokenizer_object=found, model_max_length=math.inf)
    return found


def _open(
    place: str, pooling: str | None, device: str | None = None, seed: int | None = 0
) -> SentenceTransformer:
    """Open a SentenceTransformer, or a plain encoder with a pooling."""
    # With a fixed seed, weights that the checkpoint lacks get the same values at each load, and
    # the model the same fingerprint.
    with _load_errors(place), torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        place = fetch_revision(place)
        if pooling is None:
            model = SentenceTransformer(place, device=device, model_kwargs=dict(MODEL_KWARGS))
            refuse_pickles(place)
            return model
        encoder = Transformer(place, model_kwargs=dict(MODEL_KWARGS))
        modules = [encoder, *pooling_modules(encoder, pooling)]
        return SentenceTransformer(modules=modules, device=device)


@contextmanager
def _load_errors(place: str) -> Iterator[None]:
    """Turn library errors about a broken model into one sentence."""
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError, UnpicklingError) as error:
        raise UserError(f"cannot load the model {place}: {one_line(error)}") from error


def pooling_modules(encoder: Transformer, average: str) -> list[Module]:
    """The modules after ``encoder`` that turn its states into one vector."""
    dimension = encoder.get_embedding_dimension()
    layers = LAYERS.get(average)
    if layers is None:
        return [Pooling(dimension, average)]
    config = encoder.model.config
    config.output_hidden_states = True
    weights = torch.zeros(config.num_hidden_layers + 1)
    weights[list(layers)] = 1
    over_layers = WeightedLayerPooling(
        dimension,
        config.num_hidden_layers,
        layer_start=0,
        layer_weights=torch.nn.Parameter(weights),
    )
    return [over_layers, Pooling(dimension, "mean")]


def pooling_of(model: SentenceTransformer) -> str | None:
    """The pooling mode of a model, or None if it has no pooling module."""
    for module in model:
        if isinstance(module, Pooling):
            mode = module.pooling_mode
            return mode if isinstance(mode, str) else "+".join(mode)
    return None


def default_prompt(model: SentenceTransformer) -> str:
    """The prompt that ``model`` prepends to a text by default; empty if there is none."""
    return model.prompts.get(model.default_prompt_name or "") or ""


def position_table(encoder: Module) -> nn.Embedding | None:
    """The table of position embeddings, or None if positions are relative or rotary."""
    embeddings = getattr(getattr(encoder, "model", None), "embeddings", None)
    return cast(nn.Embedding | None, getattr(embeddings, "position_embeddings", None))


def first_position(encoder: Module) -> int:
    """The first position id; RoBERTa and similar encoders start after the padding's id."""
    table = position_table(encoder)
    return 0 if table is None or table.padding_idx is None else table.padding_idx + 1


def position_limit(model: SentenceTransformer) -> int | None:
    """The maximum number of tokens that ``model`` has positions for, or None if there is no limit."""
    table = position_table(model[0])
    return None if table is None else table.num_embeddings - first_position(model[0])


def with_modules(
    model: SentenceTransformer, modules: Sequence[nn.Module], **changes: Any
) -> SentenceTransformer:
    """Build a model from other modules with the prompts, similarity and truncation of ``model``.

    ``changes`` are arguments of SentenceTransformer.
    """
    kept = {
        "device": str(model.device),
        "prompts": model.prompts,
        "default_prompt_name": model.default_prompt_name,
        "similarity_fn_name": model.similarity_fn_name,
        "truncate_dim": model.truncate_dim,
    }
    return SentenceTransformer(modules=list(modules), **{**kept, **changes})


def check_devices(names: Sequence[str]) -> list[str]:
    """Refuse devices that this machine does not have."""
    for name in names:
        try:
            torch.zeros(1, device=name).item()  # fails on "meta"
        except (RuntimeError, AssertionError) as error:
            raise UserError(f"--device {name}: {one_line(error)}") from error
    return list(names)
