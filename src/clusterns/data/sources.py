"""Sources of text: a file, a folder of files, or a dataset on the Hugging Face Hub.

Heavy imports happen only when text is read, so that a wrong name is refused immediately.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from clusterns.console import log
from clusterns.data.columns import TEXT_DOCUMENTS, Columns
from clusterns.data.kinds import KINDS, MARKUP, TEXTS, file_format, is_data_file, is_light
from clusterns.data.lines import text_blocks
from clusterns.data.markup import RULES as MARKUP_RULES
from clusterns.data.tables import open_table
from clusterns.errors import UserError, one_line
from clusterns.files import atomic_file, cache_folder

if TYPE_CHECKING:
    from collections import Counter

    import pyarrow as pa

    from clusterns.data.in_memory import InMemorySource

Advance = Callable[[int], object]

# Increment when the same .csv or .tsv file would be read differently.
RULES = 2
MAX_CHECKED = 100  # files of a folder; the others are checked when they are read

# owner/name, owner/name:config or owner/name:config:split; "owner/name::split" has no config.
_HUB_NAME = re.compile(r"([\w.-]+/[\w.-]+)(?::([^:]*))?(?::([^:]+))?")


Source: TypeAlias = "FileSource | HubSource | InMemorySource"
"""Text that can be read any number of times. ``identity`` identifies the exact content. ``rows`` yields texts and
ids in batches, and calls ``advance`` with the number of bytes read; ``size`` is their total, None if unknown."""


@dataclass(frozen=True)
class FileSource:
    """A file on this machine."""

    path: Path

    @property
    def size(self) -> int | None:
        """Bytes to read, for the progress bar."""
        return self.path.stat().st_size

    def identity(self) -> str:
        """A hash of the file's bytes and the reading rules; size and mtime do not prove equality."""
        kind = file_format(self.path)
        rules = f"{RULES} " if kind in (".csv", ".tsv") else ""
        rules = f"{MARKUP_RULES} " if kind in MARKUP else rules
        digest = hashlib.sha256(f"{kind} {self.path.suffix} {rules}".encode())
        with readable(self.path), self.path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()

    def is_plain(self, columns: Columns) -> bool:
        """Whether the file is read line by line, without columns."""
        named = columns.document is not None and columns.document not in TEXT_DOCUMENTS
        return (
            file_format(self.path) in TEXTS
            and (columns.text, columns.id) == (None, None)
            and not named
            and not columns.keep
        )

    def reading(self, columns: Columns) -> str | int:
        """Settings that determine the text besides content and columns; usually empty."""
        from clusterns.data.formats import find_wrapping

        if not self.is_plain(columns):
            return RULES if file_format(self.path) in TEXTS else ""
        if not columns.unwrap:
            return ""
        with readable(self.path), self.path.open("rb") as raw:
            return "unwrapped" if find_wrapping(self.path, raw) is not None else ""

    def describe(self, columns: Columns) -> str:
        """Describe the columns of a table from its first lines, or refuse it; empty for plain text."""
        with readable(self.path), self.path.open("rb") as raw:
            if self.is_plain(columns):
                next(text_blocks(self.path, raw), None)
                return ""
            return open_table(self.path, raw, columns.wanted()).description

    def rows(
        self, columns: Columns, advance: Advance, counts: Counter[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield texts and ids in batches, and call ``advance`` with the number of bytes read.

        ``counts["ragged"]`` counts the ragged lines of a table.
        """
        from clusterns.data.formats import read_lines, read_table

        done = 0
        with readable(self.path), self.path.open("rb") as raw:
            if self.is_plain(columns):
                batches = read_lines(self.path, raw, columns)
            else:
                batches = read_table(self.path, raw, columns, counts)
            for batch in batches:
                yield batch
                advance(raw.tell() - done)
                done = raw.tell()


@dataclass(frozen=True)
class HubSource:
    """A dataset on the Hub, or in a local folder with the same layout."""

    name: str
    config: str | None = None
    split: str = "train"
    revision: str | None = None
    folder: str | None = None
    """The local folder of the revision; None if it is read from the Hub."""
    size: int | None = None

    def identity(self) -> str:
        """The exact revision, which identifies the content."""
        return f"{self.name}:{self.config}:{self.split}@{self.revision}"

    def rows(
        self, columns: Columns, advance: Advance, counts: Counter[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield texts and ids in batches, and call ``advance`` with the number of bytes read."""
        from datasets import load_dataset

        from clusterns.data.formats import table_rows

        try:
            dataset = load_dataset(
                self.folder or self.name,
                name=self.config,
                split=self.split,
                revision=None if self.folder else self.revision,
                streaming=True,
            )
            for table in dataset.with_format("arrow").iter(batch_size=8192):
                rows = table_rows(self.name, table, columns)
                yield rows
                advance(rows.nbytes)
        except UserError:
            raise
        except Exception as error:  # from the network, the Hub or a damaged file
            raise UserError(f"cannot read the dataset {self.name}: {one_line(error)}") from error


def check_sources(names: Sequence[str], columns: Columns | None = None) -> None:
    """Refuse unreadable sources quickly, without the network, before any long work.

    With ``columns``, also check whether the start of each file is text, and whether a table has the columns.
    Formats that need heavy imports are not checked.
    """
    if not names:
        raise UserError("pass at least one file, folder or Hub dataset as the corpus.")
    for name in names:
        with readable(name):
            files = _local(name)
        for number, file in enumerate(files):
            with readable(file.path), file.path.open("rb") as raw:
                raw.read(1)
            if columns is not None and is_light(file.path) and number < MAX_CHECKED:
                file.describe(columns)


def find_sources(names: Sequence[str]) -> list[FileSource | HubSource]:
    """Resolve ``names`` to files and datasets, in order."""
    check_sources(names)
    found: list[FileSource | HubSource] = []
    for name in names:
        found += _local(name) or [_on_the_hub(name)]
    return found


def describe_columns(sources: Sequence[Source], columns: Columns) -> list[str]:
    """Report which columns are read, in one sentence for all tables with the same columns."""
    alike: dict[str, list[Path]] = {}
    for source in sources:
        if isinstance(source, FileSource) and (words := source.describe(columns)):
            alike.setdefault(words, []).append(source.path)
    return [
        f"{paths[0]}{f' and {len(paths) - 1:,} more' if len(paths) > 1 else ''}: {words}."
        for words, paths in alike.items()
    ]


def _local(name: str) -> list[FileSource]:
    """Resolve a name to local files; none if it can only be a Hub dataset."""
    path = Path(name).expanduser()
    if path.is_file():
        return [FileSource(path)]
    if path.is_dir():
        inside = [file for file in sorted(path.rglob("*")) if is_data_file(file) and file.is_file()]
        files = [file for file in inside if "/." not in f"/{file.relative_to(path).as_posix()}"]
        marked_up = [file for file in files if file_format(file) in MARKUP]
        if len(marked_up) < len(files) and all(file.stem == "README" for file in marked_up):
            files = [
                file for file in files if file not in marked_up
            ]  # the README describes the others
        if not files:
            raise UserError(
                f"the folder {name} contains no text: no {', '.join(KINDS[:-1])} or {KINDS[-1]} file."
            )
        return [FileSource(file) for file in files]
    if path.exists():
        raise UserError(f"{name} is neither a file nor a folder. Save the output of a pipe first.")
    if _HUB_NAME.fullmatch(name) is None or is_data_file(path):
        raise UserError(f"file or folder {name} does not exist.")
    return []


def _on_the_hub(name: str) -> HubSource:
    from huggingface_hub import HfApi

    dataset, config, split = next(_HUB_NAME.finditer(name)).groups()
    note = cache_folder("corpus") / f"{dataset.replace('/', '--')}.revision"
    folder = None
    try:
        revision = HfApi().dataset_info(dataset).sha
    except Exception as error:  # it does not exist, no network, or no access
        revision, folder = _cached_revision(dataset, note)
        if revision is None:
            raise UserError(
                f"file or folder {name} does not exist, and the Hub dataset {dataset} cannot be read: "
                f"{one_line(error)}"
            ) from error
        log(f"Cannot reach the Hub ({one_line(error)}). Reading {dataset} from the cache.")
    else:
        with atomic_file(note) as temporary:
            temporary.write_text(revision or "", "utf-8")
    return HubSource(dataset, config or None, split or "train", revision, folder)


def _cached_revision(dataset: str, note: Path) -> tuple[str | None, str | None]:
    """Find a dataset offline: the last known revision, and its folder in the Hub's cache.

    Without that folder, it can only be used if the corpus was prepared before.
    """
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(dataset, repo_type="dataset", local_files_only=True)
    except Exception:  # missing from the cache, or incomplete
        return (note.read_text("utf-8") if note.is_file() else None), None
    return Path(folder).name, folder


@contextmanager
def readable(name: object) -> Iterator[None]:
    """Turn an error of the operating system into a :class:`UserError`."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot read {name}: {error.strerror or error}.") from error
