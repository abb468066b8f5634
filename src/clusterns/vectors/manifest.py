"""What the shards of a folder were made of: the reason to add to them, or to refuse."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from clusterns.errors import UserError
from clusterns.files import partial_path, wrap_os_errors
from clusterns.settings import Settings
from clusterns.vectors.settings import EncodeSettings, Loading
from clusterns.vectors.shards import Shards

MANIFEST, COMPLETE = "manifest.json", "complete.json"


class ModelFacts(Settings):
    """Which model: its fingerprint decides, its name is for people."""

    name: str
    fingerprint: str
    dimension: int | None
    loading: Loading = Loading()
    """How it was opened; the fingerprint stands for what came of it."""


class CorpusFacts(Settings):
    """Which text: the fingerprint of its content decides, the names are for people."""

    sources: list[str]
    fingerprint: str


class Ranges(Settings):
    """The smallest and largest number of each dimension: what int8 and uint8 are spread over."""

    low: list[float]
    high: list[float]


class Manifest(Settings):
    """What a folder of shards holds; one for all machines that write to it."""

    model: ModelFacts
    corpus: CorpusFacts
    settings: EncodeSettings
    versions: dict[str, str | None]
    """Libraries of the process that began."""
    ranges: Ranges | None = None
    """With int8 and uint8: the same for every shard, whoever makes it."""

    @property
    def digest(self) -> str:
        """What every shard carries: it stands for all that decides the shards, and no names."""
        decides = {
            "model": self.model.fingerprint,
            "corpus": self.corpus.fingerprint,
            "settings": self.settings.model_dump(),
            "ranges": self.ranges and self.ranges.model_dump(),
        }
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:32]

    def shards(self, folder: Path) -> Shards:
        """The files in a folder that this manifest describes."""
        return Shards(folder, self.settings.format, self.digest, self.settings.text)

    def begin(self, folder: Path) -> Manifest:
        """Write the manifest, unless another machine was quicker; give the one that counts."""
        write_once(folder / MANIFEST, self.model_dump(exclude_none=True))
        return read_manifest(folder) or self

    def check(self, asked: Manifest, folder: Path) -> None:
        """Refuse to add other shards to these."""
        if asked.model.fingerprint != self.model.fingerprint:
            self._refuse("model", self.model.name, self.model.fingerprint, folder)
        if asked.corpus.fingerprint != self.corpus.fingerprint:
            names = ", ".join(self.corpus.sources)
            self._refuse("corpus", names, self.corpus.fingerprint, folder)
        now = asked.settings.model_dump()
        for key, before in self.settings.model_dump().items():
            if now[key] != before:
                raise UserError(
                    f"--output {folder} was begun with {_said(key, before)}, not "
                    f"{_said(key, now[key])}: give the same settings or name another folder."
                )

    def _refuse(self, what: str, name: str, fingerprint: str, folder: Path) -> None:
        raise UserError(
            f"--output {folder} holds vectors of another {what} ({name}, fingerprint "
            f"{fingerprint[:8]}): name another folder."
        )


def read_manifest(folder: Path) -> Manifest | None:
    """Read a folder's manifest; None where nothing was begun."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--output {folder} is a file; name a folder.")
    path = folder / MANIFEST
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        if next(folder.glob("shard-*"), None):
            raise UserError(
                f"--output {folder} holds shards, but no {MANIFEST} that says what they are: name "
                "another folder."
            ) from None
        return None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}.") from error
    except ValueError:
        raise UserError(f"{path} does not describe encoded text: name another folder.") from None


def write_once(path: Path, value: Any) -> None:
    """Write JSON, whole; a file that is there already, or comes first from elsewhere, stays."""
    temporary = partial_path(path)
    with wrap_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", "utf-8")
            _link(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def _link(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without hard links
        temporary.replace(path)


def _said(key: str, value: Any) -> str:
    option = f"--{key.replace('_', '-')}"
    if value in (None, False):
        return f"no {option}"
    return option if value is True else f"{option} {value}"
