"""Find a model: inside this package, in a folder, or on the Hub.

Imports are light, so that a missing model is refused immediately.
"""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import cast

from clusterns.encoder.settings import AVERAGES
from clusterns.errors import UserError
from clusterns.files import recover_folder

MINIBERT, MINIBERT_RAW = "minibert", "minibert-raw"
INCLUDED = (MINIBERT, MINIBERT_RAW)
"""The bases inside this package: one for training, and a raw masked LM for comparing methods."""


def resolve_base(name: str | None) -> str:
    """The folder or Hub name of the base ``name``.

    ``minibert``, the default, and ``minibert-raw`` are small encoders inside this package. A Hub name may
    end in a revision: ``owner/name@revision``.
    """
    if name is None or name in INCLUDED:
        return str(minibert_folder(name or MINIBERT))
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
            raise UserError(
                f"base {name} is a folder without config.json or modules.json, so it is not a model."
            )
        return str(folder)
    if folder.exists():
        raise UserError(f"base {name} is a file. Pass a model folder or a Hub model.")
    if _on_hub(name):
        return name
    raise UserError(
        f"base {name!r} is not a folder, is not in the local Hub cache, and cannot be found on the "
        f"Hugging Face Hub from here. Offline, use --base {MINIBERT} (inside this package) or a model "
        "folder."
    )


def resolve_model(name: str) -> str:
    """The folder or Hub name of MODEL. A run folder has its final model in the subfolder ``model``."""
    run, final = Path(name), Path(name) / "model"
    recover_folder(run)
    recover_folder(final)
    if final.is_dir():
        return str(final)
    try:
        return resolve_base(name)
    except UserError as error:
        raise UserError(
            f"MODEL {name!r} is not a run folder, a model folder or a file of word vectors, and it "
            "is neither in the local Hub cache nor on the Hugging Face Hub."
        ) from error


def check_model(name: str, pooling: str | None) -> None:
    """Refuse a model that does not exist, or a pooling that does not fit it."""
    if Path(name).is_file():
        _refuse_pooling(pooling, name, "word vectors are averaged")
        return
    place = resolve_model(name)
    if is_sentence_transformer(place):
        _refuse_pooling(pooling, place, "a SentenceTransformer has a pooling of its own")
    elif pooling not in AVERAGES:
        raise UserError(
            f"{place} is a plain encoder without pooling. Choose one with --pooling "
            f"({', '.join(AVERAGES)})."
        )


def _refuse_pooling(pooling: str | None, name: str, reason: str) -> None:
    if pooling is not None:
        raise UserError(f"--pooling {pooling} does not go with {name}: {reason}.")


def is_plain_encoder(name: str) -> bool:
    """Whether MODEL lacks a pooling of its own; refuse a model that does not exist."""
    return not Path(name).is_file() and not is_sentence_transformer(resolve_model(name))


def is_sentence_transformer(place: str) -> bool:
    """Whether a folder or Hub model has Sentence Transformers modules.

    A Hub model is a plain encoder only if the Hub reports, now or when the model was cached, that
    modules.json does not exist. A failed lookup is an error: otherwise, the model would silently lose
    its pooling and prompts.
    """
    if Path(place).is_dir():
        return (Path(place) / "modules.json").is_file()
    from huggingface_hub import hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import RemoteEntryNotFoundError

    repo, revision = split_revision(place)
    try:
        hf_hub_download(repo, "modules.json", revision=revision)
        return True
    except RemoteEntryNotFoundError:
        return False
    except request_errors() as error:
        # None: unknown to the cache. Otherwise, the cache has recorded that the file does not exist.
        if try_to_load_from_cache(repo, "modules.json", revision=revision) is not None:
            return False
        raise UserError(
            f"cannot tell whether {place} is a SentenceTransformer: its modules.json is not in the "
            "local Hub cache, and the Hub cannot be reached. Connect once, or pass the folder of "
            "the complete model."
        ) from error


def split_revision(name: str) -> tuple[str, str | None]:
    """``owner/name@revision`` as its two parts; None without a revision."""
    repo, _, revision = name.partition("@")
    return repo, revision or None


def with_revision(name: str, revision: str | None) -> str:
    """A Hub name with its revision, as ``owner/name@revision``; a local model has none."""
    if revision is None or name.endswith(f"@{revision}"):
        return name
    if name in INCLUDED or Path(name).expanduser().exists() or "@" in name:
        raise UserError(
            f"--revision {revision} requires the name of a Hub model, but {name} is not one."
        )
    return f"{name}@{revision}"


def fetch_revision(place: str) -> str:
    """The local folder of ``owner/name@revision``; any other location unchanged."""
    repo, revision = split_revision(place)
    if revision is None or Path(place).is_dir():
        return place
    from huggingface_hub import snapshot_download

    formats = ["*.bin", "*.h5", "*.msgpack", "*.onnx", "*.ot", "openvino/*"]
    return str(snapshot_download(repo, revision=revision, ignore_patterns=formats))


def minibert_folder(name: str = MINIBERT) -> Path:
    """The folder of a base inside this package."""
    return Path(str(files("clusterns.encoder") / name))


def identity_of_base(name: str) -> str:
    """Identify a base: by its weights if they are in a local folder, else by name."""
    folder = minibert_folder(name) if name in INCLUDED else Path(name).expanduser()
    weights = sorted(_weights_in(folder)) if folder.is_dir() else []
    if not weights:
        return name
    digest = hashlib.blake2b(digest_size=8)
    for file in weights:
        with file.open("rb") as opened:
            while block := opened.read(1 << 22):
                digest.update(block)
    return f"{folder.name} {digest.hexdigest()}"


def refuse_pickles(place: str) -> None:
    """Refuse a SentenceTransformer that has a module with pickled weights."""
    folder = Path(place)
    if not folder.is_dir():
        from huggingface_hub import hf_hub_download

        folder = Path(hf_hub_download(place, "modules.json")).parent  # it is in the cache by now
    for file in _weights_in(folder):
        is_module = file.parent != folder  # the encoder is read from safetensors alone
        if is_module and file.suffix == ".bin" and not any(file.parent.glob("*.safetensors")):
            raise UserError(
                f"{file}: pickled weights are refused. If you trust them, convert them to safetensors: open the "
                "model with Sentence Transformers and save it."
            )


def _weights_in(folder: Path) -> set[Path]:
    """The weight files of a model and its modules; other files in its folder are ignored."""
    modules = folder / "modules.json"
    places = [folder]
    if modules.is_file():
        places += [folder / each["path"] for each in json.loads(modules.read_text("utf-8"))]
    return {
        file for place in places for kind in ("*.safetensors", "*.bin") for file in place.glob(kind)
    }


def _on_hub(name: str) -> bool:
    """Whether the model's configuration is cached or can be fetched."""
    from huggingface_hub import file_exists, try_to_load_from_cache

    repo, revision = split_revision(name)
    names = ("config.json", "modules.json")
    try:
        found = (try_to_load_from_cache(repo, file, revision=revision) for file in names)
        if any(isinstance(each, str) for each in found):
            return True
        return any(file_exists(repo, file, revision=revision) for file in names)
    except request_errors():  # offline mode and lost connections, too
        return False


def request_errors() -> tuple[type[Exception], ...]:
    """Exceptions that a failed request to the Hub can raise."""
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    # Its base class is that of httpx or of httpx2, whichever the Hub's library uses.
    return OSError, HFValidationError, cast(type[Exception], HfHubHTTPError.__bases__[0])
