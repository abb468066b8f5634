"""Where the base of a name lies: inside this package, in a folder, or on the Hub.

Nothing heavy is imported here, so that a base that is not there is refused at once.
"""

from __future__ import annotations

import hashlib
import json
import os
from importlib.resources import files
from pathlib import Path

from clusterns.errors import UserError

MINIBERT, MINIBERT_RAW = "minibert", "minibert-raw"
INCLUDED = (MINIBERT, MINIBERT_RAW)
"""The bases inside this package: one to start from, and a raw masked LM to compare methods on."""


def resolve_base(name: str | None) -> str:
    """The folder or Hub name that holds the base ``name``.

    ``minibert``, the default, and ``minibert-raw`` are small encoders inside this package.
    """
    if name is None or name in INCLUDED:
        return str(minibert_folder(name or MINIBERT))
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


def minibert_folder(name: str = MINIBERT) -> Path:
    """The folder of a base inside this package."""
    return Path(str(files("clusterns.encoder") / name))


def identity_of_base(name: str) -> str:
    """What tells two bases of one name apart: the weights where they are at hand, else the name."""
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


def _weights_in(folder: Path) -> set[Path]:
    """The weights of a model and of its modules, and nothing else that lies in its folder."""
    modules = folder / "modules.json"
    places = [folder]
    if modules.is_file():
        places += [folder / each["path"] for each in json.loads(modules.read_text("utf-8"))]
    return {
        file for place in places for kind in ("*.safetensors", "*.bin") for file in place.glob(kind)
    }


def _on_hub(name: str) -> bool:
    """Whether the model's configuration is cached or can be fetched, without long retries."""
    from huggingface_hub import file_exists, hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

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


def is_sentence_transformer(base: str) -> bool:
    """Whether a folder or cached Hub model carries Sentence Transformers modules."""
    if Path(base).is_dir():
        return (Path(base) / "modules.json").is_file()
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        hf_hub_download(base, "modules.json")
        return True
    except (OSError, HfHubHTTPError):
        return False
