"""A folder of shards: the manifest that describes them, and their files, written atomically."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clusterns.console import log
from clusterns.errors import UserError
from clusterns.files import atomic_file, partial_path, read_json, recover_folder, wrap_os_errors
from clusterns.settings import Settings
from clusterns.vectors.quantize import Ranges, dequantize
from clusterns.vectors.settings import EncodeSettings, Loading, Partition

# Increment when the same text would be encoded or stored differently.
VERSION = 2
MANIFEST, COMPLETE = "manifest.json", "complete.json"
WORDS = "words"  # the word index, next to the shards
LEFTOVER_SECONDS = 3600
DIGEST = b"clusterns.manifest"  # key in the metadata of a shard


class ModelFacts(Settings):
    """The model: identified by fingerprint; the name is for display."""

    name: str
    fingerprint: str
    dimension: int | None
    loading: Loading = Loading()
    """How it was loaded; the fingerprint covers the result."""


class CorpusFacts(Settings):
    """The text: identified by the fingerprint of its content; the names are for display."""

    sources: list[str]
    fingerprint: str


class Manifest(Settings):
    """Describes the shards of a folder; shared by all machines that write to it."""

    version: int = VERSION
    model: ModelFacts
    corpus: CorpusFacts
    settings: EncodeSettings
    versions: dict[str, str | None]
    """Library versions of the process that began the folder."""
    ranges: Ranges | None = None
    """For int8 and uint8; the same for every shard, on any machine."""

    @property
    def digest(self) -> str:
        """Identifies everything that determines the shards, names excluded; stored in every shard."""
        content = {
            "version": self.version,
            "model": self.model.fingerprint,
            "corpus": self.corpus.fingerprint,
            "settings": self.settings.model_dump(),
            "ranges": self.ranges and self.ranges.model_dump(),
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]

    def begin(self, folder: Path) -> Manifest:
        """Write the manifest unless another machine was first; return the one in the folder."""
        write_once(folder / MANIFEST, self.model_dump(exclude_none=True))
        return read_manifest(folder) or self

    def gives_vectors_of(self, other: Manifest) -> bool:
        """Whether the same texts have identical vectors in the folders of both manifests."""
        mine, theirs = self.settings, other.settings
        exact = mine.precision == theirs.precision == "float32" and mine.text
        same = self.model.fingerprint == other.model.fingerprint
        return exact and same and mine.normalize == theirs.normalize

    def check(self, requested: Manifest, folder: Path) -> None:
        """Refuse to mix different shards in a folder."""
        if requested.model.fingerprint != self.model.fingerprint:
            self._refuse("model", self.model.name, self.model.fingerprint, folder)
        if requested.corpus.fingerprint != self.corpus.fingerprint:
            names = ", ".join(self.corpus.sources)
            self._refuse("corpus", names, self.corpus.fingerprint, folder)
        now = requested.settings.model_dump()
        for key, before in self.settings.model_dump().items():
            if now[key] != before:
                raise UserError(
                    f"--output {folder} was begun with {_option(key, before)}, not "
                    f"{_option(key, now[key])}. Use the same settings or choose another folder."
                )

    def _refuse(self, what: str, name: str, fingerprint: str, folder: Path) -> None:
        raise UserError(
            f"--output {folder} holds vectors of another {what} ({name}, fingerprint "
            f"{fingerprint[:8]}). Choose another folder."
        )


def read_manifest(folder: Path) -> Manifest | None:
    """Read a folder's manifest; None if nothing was begun there."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--output {folder} is a file. Choose a folder.")
    recover_folder(folder)
    path = folder / MANIFEST
    try:
        values = read_json(path)
        if "settings" in values and values.get("version") != VERSION:
            raise UserError(
                f"{folder} was encoded by another version of clusterns. Delete it or choose "
                "another folder, and encode the text again."
            )
        return Manifest.model_validate(values)
    except FileNotFoundError:
        if next(folder.glob("shard-*"), None):
            raise UserError(
                f"--output {folder} holds shards but no {MANIFEST} that describes them. Choose "
                "another folder."
            ) from None
        return None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}.") from error
    except (ValueError, TypeError, AttributeError):
        raise UserError(f"{path} does not describe encoded text. Choose another folder.") from None


def write_once(path: Path, value: Any) -> None:
    """Write JSON atomically; a file that exists, or that another process writes first, is kept."""
    temporary = partial_path(path)
    with wrap_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", "utf-8")
            try:
                os.link(temporary, path)
            except FileExistsError:
                pass
            except OSError:  # a file system without hard links
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def _option(key: str, value: Any) -> str:
    option = f"--{key.replace('_', '-')}"
    if value in (None, False, ()):
        return f"no {option}"
    if isinstance(value, tuple):
        return " ".join(f"{option} {each}" for each in value)
    return option if value is True else f"{option} {value}"


@dataclass(frozen=True)
class Store:
    """The shards in a folder: ``shard-00000.parquet`` with the columns id, text, ... and embedding.

    The metadata of each shard holds the digest of the manifest, so that shards of another model are detected.
    """

    folder: Path
    manifest: Manifest
    shards: int = 0
    """Total number of shards; 0 while they are being written."""
    texts: int = 0

    @classmethod
    def open(cls, folder: Path) -> Store:
        """Open a finished folder; refuse one that is missing, not of vectors, or not finished."""
        recover_folder(folder)
        manifest = read_manifest(folder) if (folder / MANIFEST).is_file() else None
        if manifest is None:
            raise UserError(f"{folder} is not a folder that `clusterns encode` wrote.")
        try:
            counts = read_json(folder / COMPLETE)
            return cls(folder, manifest, counts["shards"], counts["texts"])
        except FileNotFoundError:
            raise UserError(
                f"{folder} is not complete. Run the command that began it again to continue."
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"cannot read {folder / COMPLETE}: {error}.") from error

    @property
    def dimension(self) -> int:
        """Dimension of the vectors."""
        return self.manifest.model.dimension or next(self.blocks())[1].shape[1]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows."""
        self._check(0)
        found = pq.read_schema(self.path(0)).remove_metadata()
        return found.remove(found.get_field_index("embedding"))

    def path(self, number: int) -> Path:
        """The file of a shard."""
        return self.folder / f"shard-{number:05d}.parquet"

    def is_done(self, number: int, rows: int) -> bool:
        """Whether an intact shard with this many rows exists; a crash can damage one."""
        try:
            found = pq.read_metadata(self.path(number))
        except (OSError, ValueError, pa.ArrowException):
            return False
        ours = (found.metadata or {}).get(DIGEST, b"").decode() == self.manifest.digest
        if found.num_rows == rows and not ours:
            log(f"{self.path(number)} is from another model, corpus or setting. Replacing it.")
        return found.num_rows == rows and ours

    def write(self, number: int, rows: pa.Table, vectors: NDArray[Any]) -> None:
        """Write one shard: ``rows`` has the columns id, text and any others."""
        rows = rows if self.manifest.settings.text else rows.drop_columns("text")
        flat = pa.array(vectors.reshape(-1))
        embeddings = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
        table = rows.append_column("embedding", embeddings)
        table = table.replace_schema_metadata({DIGEST: self.manifest.digest})
        # Parquet has no numbers below 32 bits; a dictionary of the 256 values makes them small.
        dictionary = vectors.itemsize == 1
        with atomic_file(self.path(number)) as temporary:
            pq.write_table(table, temporary, compression="zstd", use_dictionary=dictionary)

    def read(self, number: int) -> tuple[pa.Table, NDArray[np.float32]]:
        """The rows of a shard (id, text, ...) and its (n, d) vectors as floats."""
        table = pq.read_table(self.path(number))
        lists = table["embedding"].combine_chunks()
        stored = lists.flatten().to_numpy().reshape(len(lists), -1)
        of = self.manifest
        vectors = dequantize(stored, of.settings.precision, of.ranges, of.model.dimension)
        return table.drop_columns("embedding"), vectors

    def blocks(self) -> Iterator[tuple[pa.Table, NDArray[np.float32]]]:
        """Yield the rows and the vectors of each shard."""
        for number in range(self.shards):
            self._check(number)
            yield self.read(number)

    def done(self) -> list[int]:
        """The intact shards."""
        return [number for number in range(self.shards) if self._is_complete(number)]

    def _is_complete(self, number: int) -> bool:
        size = self.manifest.settings.shard_size
        return self.is_done(number, min(size, self.texts - number * size))

    def _check(self, number: int) -> None:
        if not self._is_complete(number):
            raise UserError(
                f"{self.path(number)} is missing, damaged or of another model. Run the "
                "`clusterns encode` command again to restore it."
            )

    def remove_leftovers(self, partition: Partition) -> None:
        """Remove leftovers of an interrupted process of this partition.

        Only old files: another machine may be writing a recent one.
        """
        for path in self.folder.glob(".shard-*.partial"):
            number = path.name.removeprefix(".shard-").partition(".")[0]
            if number.isdecimal() and int(number) in partition:
                with wrap_os_errors(path), suppress(FileNotFoundError):
                    if time.time() - path.stat().st_mtime >= LEFTOVER_SECONDS:
                        path.unlink()

    def check_model(self, fingerprint: str, name: str) -> None:
        """Refuse to compare the vectors of two models."""
        model = self.manifest.model
        if fingerprint != model.fingerprint:
            raise UserError(
                f"the vectors in {self.folder} are of another model ({model.name}, fingerprint "
                f"{model.fingerprint[:8]}) than {name} ({fingerprint[:8]}). Use that model, or "
                "encode the text with this one."
            )

    def how_to_open(self) -> str:
        """Python code that loads all vectors."""
        return (
            "from datasets import load_dataset\n"
            f'vectors = load_dataset("parquet", data_files={str(self.path(0)).replace("00000", "*")!r}, '
            'split="train")'
        )
