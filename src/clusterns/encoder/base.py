"""From the name of a base to a SentenceTransformer that is ready to train."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import get_args

import torch
from huggingface_hub import file_exists, hf_hub_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Module, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from clusterns.console import say
from clusterns.encoder.first_position import train_every_position
from clusterns.encoder.settings import PoolingMode
from clusterns.encoder.training_only import TrainingOnly
from clusterns.errors import UserError

MINIBERT = "minibert"
DEFAULT_BASE = "google-bert/bert-base-uncased"


def resolve_base(name: str | None) -> str:
    """The folder or Hub name that holds the base ``name``.

    ``minibert`` is the small encoder inside this package. Without a name, see
    :func:`default_base`.
    """
    if name == MINIBERT:
        return str(minibert_folder())
    if name is None:
        return resolve_base(default_base())
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
            raise UserError(
                f"base {name} is a folder without config.json or modules.json: not a model."
            )
        return str(folder)
    if folder.exists():
        raise UserError(f"base {name} is a file; a base is a folder or a Hub name.")
    if _on_hub(name):
        return name
    raise UserError(
        f"base {name!r} is neither a folder nor in the local Hub cache, and cannot be found on the "
        f"Hugging Face Hub from here. Offline you can use --base {MINIBERT} (inside this package) or a model folder."
    )


def default_base() -> str:
    """The base where none is named: BERT-base, or minibert where the Hub is out of reach."""
    if _on_hub(DEFAULT_BASE):
        return DEFAULT_BASE
    say(
        f"The Hugging Face Hub cannot be reached: the base is {MINIBERT}, the small BERT inside this "
        "package."
    )
    return MINIBERT


def minibert_folder() -> Path:
    """Where the embedded small BERT lies."""
    return Path(str(files("clusterns.encoder") / "minibert"))


def _on_hub(name: str) -> bool:
    """Whether the model's configuration is cached or can be fetched, without long retries."""
    for file in ("config.json", "modules.json"):
        try:
            hf_hub_download(name, file, local_files_only=True)
            return True
        except HFValidationError:
            return False
        except (OSError, HfHubHTTPError):
            pass
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "TRUE", "YES", "ON"}:
        return False
    try:
        return file_exists(name, "config.json") or file_exists(name, "modules.json")
    except (OSError, HfHubHTTPError, OfflineModeIsEnabled):
        return False
    except Exception as error:  # the HTTP client's own connection errors share no public base class
        if "connect" in type(error).__name__.lower() or "timeout" in type(error).__name__.lower():
            return False
        raise


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
            return SentenceTransformer(base).tokenizer
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


def is_sentence_transformer(base: str) -> bool:
    """Whether a folder or cached Hub model carries Sentence Transformers modules."""
    if Path(base).is_dir():
        return (Path(base) / "modules.json").is_file()
    try:
        hf_hub_download(base, "modules.json")
        return True
    except (OSError, HfHubHTTPError):
        return False


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
    return SentenceTransformer(
        modules=modules,
        prompts=model.prompts,
        default_prompt_name=model.default_prompt_name,
        similarity_fn_name=model.similarity_fn_name,
        truncate_dim=model.truncate_dim,
        model_card_data=model.model_card_data,
    )
