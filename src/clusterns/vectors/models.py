"""What MODEL may be: a run folder, a SentenceTransformer, a plain encoder, or word vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer

from clusterns.encoder.averages import averaging
from clusterns.encoder.word_vectors import load_word_vectors
from clusterns.errors import UserError
from clusterns.vectors.devices import check_devices
from clusterns.vectors.place import check_model, model_place
from clusterns.vectors.settings import DType

# A half-precision checkpoint would otherwise run in half precision, which a CPU does slowly and
# less exactly; and only safetensors are read, never a pickle.
WEIGHTS: dict[str, Any] = {"dtype": torch.float32, "use_safetensors": True}


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
    """Load MODEL as something with ``encode``.

    Args:
        name: a run folder, a SentenceTransformer's path or Hub name, a plain Transformers
            encoder's path or Hub name, or a text file of word vectors.
        pooling: how a plain encoder's token vectors become one; needed there, refused elsewhere.
        max_length: tokens to read of each sentence instead of what the model says.
        device: where to run; by default the best there is.
        dtype: kind of the weights and of the work.
        prompt_name: which of the model's prompts to put before each text; by default the one that
            it names itself, if any.
        truncate_dim: how many of a vector's first numbers to keep.
    """
    if device is not None:
        check_devices([device])
    check_model(name, pooling)
    if Path(name).is_file():
        model = load_word_vectors(Path(name))
    else:
        model = _load_transformer(model_place(name), pooling, device)
    if max_length is not None:
        model.max_seq_length = max_length
    if prompt_name is not None:
        if prompt_name not in model.prompts:
            known = ", ".join(model.prompts) or "none"
            raise UserError(f"--prompt-name {prompt_name}: the prompts of {name} are {known}.")
        model.default_prompt_name = prompt_name
    if truncate_dim is not None:
        whole = model.get_embedding_dimension()
        if whole is not None and truncate_dim > whole:
            raise UserError(f"--truncate-dim {truncate_dim}: the vectors of {name} have {whole}.")
        model.truncate_dim = truncate_dim
    return model.to(getattr(torch, dtype)).eval()


def _load_transformer(place: str, pooling: str | None, device: str | None) -> SentenceTransformer:
    # Weights that a checkpoint lacks (BERT's pooler, which no pooling here uses) are drawn at
    # random; with a fixed seed the model's fingerprint stays the same.
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return _load_seeded(place, pooling, device)


def _load_seeded(place: str, pooling: str | None, device: str | None) -> SentenceTransformer:
    try:
        if pooling is None:
            return SentenceTransformer(place, device=device, model_kwargs=dict(WEIGHTS))
        encoder = Transformer(place, model_kwargs=dict(WEIGHTS))
        return SentenceTransformer(modules=[encoder, *averaging(encoder, pooling)], device=device)
    except (OSError, ValueError, ImportError) as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"cannot load the model {place}: {first}") from error
