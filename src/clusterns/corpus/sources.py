"""What the user points at: a file, a folder of files, or a dataset of the Hugging Face Hub."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from datasets import load_dataset
from huggingface_hub import HfApi

from clusterns.corpus.formats import (
    Columns,
    file_format,
    is_data_file,
    read_file,
    table_columns,
    table_rows,
)
from clusterns.errors import UserError

Advance = Callable[[int], object]

# owner/name, owner/name:config or owner/name:config:split; "owner/name::split" has no config.
_HUB_NAME = re.compile(r"([\w.-]+/[\w.-]+)(?::([^:]*))?(?::([^:]+))?")


@dataclass(frozen=True)
class FileSource:
    """One file on this machine."""

    path: Path

    @property
    def size(self) -> int | None:
        """Bytes to read, for the progress bar."""
        return self.path.stat().st_size

    def identity(self) -> str:
        """Hash the file's bytes, and how they are read: equal size and time prove nothing."""
        digest = hashlib.sha256(f"{file_format(self.path)} {self.path.suffix} ".encode())
        with _readable(self.path), self.path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()

    def batches(self, column: str | None, advance: Advance) -> Iterator[pa.Array]:
        """Yield the texts in batches, and tell ``advance`` how many more bytes were read."""
        return (rows.column("text") for rows in self.rows(Columns(column), advance))

    def rows(self, columns: Columns, advance: Advance) -> Iterator[pa.RecordBatch]:
        """Yield the same batches with the ids of the texts beside them."""
        done = 0
        with _readable(self.path), self.path.open("rb") as raw:
            for batch in read_file(self.path, raw, columns):
                yield batch
                advance(raw.tell() - done)
                done = raw.tell()


@dataclass(frozen=True)
class HubSource:
    """A dataset of the Hub, or of a folder that is laid out like one."""

    name: str
    config: str | None = None
    split: str = "train"
    revision: str | None = None
    size: int | None = None

    def identity(self) -> str:
        """Name the exact revision, which stands for its content."""
        return f"{self.name}:{self.config}:{self.split}@{self.revision}"

    def batches(self, column: str | None, advance: Advance) -> Iterator[pa.Array]:
        """Yield the texts in batches, and tell ``advance`` how many more bytes were read."""
        return (rows.column("text") for rows in self.rows(Columns(column), advance))

    def rows(self, columns: Columns, advance: Advance) -> Iterator[pa.RecordBatch]:
        """Yield the same batches with the ids of the texts beside them."""
        try:
            dataset = load_dataset(
                self.name,
                name=self.config,
                split=self.split,
                revision=self.revision,
                streaming=True,
            )
            for table in dataset.with_format("arrow").iter(batch_size=8192):
                chosen = table_columns(self.name, table.schema, columns)
                rows = table_rows(self.name, table, chosen)
                yield rows
                advance(rows.nbytes)
        except UserError:
            raise
        except Exception as error:  # whatever the network, the Hub or a damaged file brings
            raise UserError(f"cannot read the dataset {self.name}: {_one_line(error)}") from error


Source = FileSource | HubSource


def find_sources(names: Sequence[str]) -> list[Source]:
    """Find every file or dataset that ``names`` stand for, in their order."""
    if not names:
        raise UserError("name at least one file, folder or Hub dataset as the corpus.")
    found: list[Source] = []
    for name in names:
        with _readable(name):
            found += _find(name)
    return found


def _find(name: str) -> list[Source]:
    path = Path(name).expanduser()
    if path.is_file():
        return [FileSource(path)]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if _is_visible_data(file, path))
        if not files:
            raise UserError(
                f"the folder {name} holds no text: no .txt, .jsonl, .csv, .tsv or .parquet file."
            )
        return [FileSource(file) for file in files]
    if path.exists():
        raise UserError(f"{name} is neither a file nor a folder (a pipe must be saved first).")
    hub_name = _HUB_NAME.fullmatch(name)
    if hub_name is None or is_data_file(path):
        raise UserError(f"there is no file or folder {name}.")
    dataset, config, split = hub_name.groups()
    try:
        revision = HfApi().dataset_info(dataset).sha
    except Exception as error:  # not there, no network, no right to see it
        raise UserError(
            f"there is no file or folder {name}, and the Hub gave no dataset {dataset}: "
            f"{_one_line(error)}"
        ) from error
    return [HubSource(dataset, config or None, split or "train", revision)]


@contextmanager
def _readable(name: object) -> Iterator[None]:
    """Turn a refusal of the operating system into one clear sentence."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot read {name}: {error.strerror or error}.") from error


def _is_visible_data(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return not hidden and file.is_file() and is_data_file(file)


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:300] + " ..."
