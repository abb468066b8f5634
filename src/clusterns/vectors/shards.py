"""The files of an encoded corpus: each is written whole or not at all, and says what it is of."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clusterns.console import log
from clusterns.files import atomic_file, wrap_os_errors
from clusterns.vectors.settings import Format, Share

LEFTOVER_SECONDS = 3600
DIGEST = b"clusterns.manifest"  # key of a parquet file's metadata
UNREADABLE = (OSError, ValueError, EOFError, KeyError, pa.ArrowException)


@dataclass(frozen=True)
class Shards:
    """The shards in a folder.

    parquet: ``shard-00000.parquet`` with the columns id, text and embedding. npy: ``ids-00000.npy``,
    ``texts-00000.parquet`` and ``shard-00000.npy``; the vectors come last, so where they are, the
    rest is. Without ``text`` there is none of it.

    Every file carries the manifest's digest, so that one of another model is found out: parquet in
    its metadata, npy as a second array after the first, which ``numpy.load`` does not read.
    """

    folder: Path
    format: Format
    digest: str = ""
    text: bool = True

    def path(self, number: int) -> Path:
        """The file whose presence says that a shard is done."""
        return self.folder / f"shard-{number:05d}.{self.format}"

    def ids_path(self, number: int) -> Path:
        """The ids beside a shard in npy."""
        return self.folder / f"ids-{number:05d}.npy"

    def texts_path(self, number: int) -> Path:
        """The texts beside a shard in npy."""
        return self.folder / f"texts-{number:05d}.parquet"

    def is_done(self, number: int, rows: int) -> bool:
        """Tell whether a shard is there with so many rows; a crash of the machine can damage one."""
        try:
            found = [_identity(path) for path in self._files(number)]
        except UNREADABLE:
            return False
        if all(size == rows for size, _ in found) and any(of != self.digest for _, of in found):
            log(f"{self.path(number)} is of another model, corpus or setting: not taken.")
        return found == [(rows, self.digest)] * len(found)

    def _files(self, number: int) -> list[Path]:
        if self.format == "parquet":
            return [self.path(number)]
        texts = [self.texts_path(number)] if self.text else []
        return [self.path(number), self.ids_path(number), *texts]

    def write(self, number: int, rows: pa.Table, vectors: NDArray[Any]) -> None:
        """Write one shard: ``rows`` has the columns id and text."""
        rows = rows if self.text else rows.select(["id"])
        if self.format == "npy":
            ids = rows["id"]
            # Text ids become an array of fixed width, which needs no pickle.
            whole = pa.types.is_integer(ids.type)
            values = ids.to_numpy() if whole else np.array(ids.to_pylist())
            self._save(self.ids_path(number), values)
            if self.text:
                self._write_table(self.texts_path(number), rows.select(["text"]))
            self._save(self.path(number), vectors)
            return
        flat = pa.array(vectors.reshape(-1))
        embeddings = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
        # Parquet has no numbers below 32 bits; a dictionary of the 256 values makes them small.
        self._write_table(
            self.path(number), rows.append_column("embedding", embeddings), vectors.itemsize == 1
        )

    def _write_table(self, path: Path, table: pa.Table, use_dictionary: bool = False) -> None:
        table = table.replace_schema_metadata({DIGEST: self.digest})
        with atomic_file(path) as temporary:
            pq.write_table(table, temporary, compression="zstd", use_dictionary=use_dictionary)

    def _save(self, path: Path, values: NDArray[Any]) -> None:
        with atomic_file(path) as temporary, temporary.open("wb") as file:
            np.save(file, values, allow_pickle=False)
            np.lib.format.write_array(file, np.array(self.digest), allow_pickle=False)

    def read(self, number: int) -> tuple[pa.Table, NDArray[Any]]:
        """The rows of one shard, id and text, and its vectors (n, numbers) as they are stored."""
        if self.format == "parquet":
            table = pq.read_table(self.path(number))
            lists = table["embedding"].combine_chunks()
            vectors = lists.flatten().to_numpy().reshape(len(lists), -1)
            return table.drop_columns("embedding"), vectors
        ids = pa.array(np.load(self.ids_path(number), allow_pickle=False))
        table = pa.table({"id": ids})
        if self.text:
            table = table.append_column("text", pq.read_table(self.texts_path(number))["text"])
        return table, np.load(self.path(number), mmap_mode="r", allow_pickle=False)

    def remove_leftovers(self, share: Share) -> None:
        """Remove what a killed process of this share left half-written.

        Only old files: another machine may be at work on a young one.
        """
        for path in self.folder.glob(".*.partial"):
            kind, _, number = path.name[1:].split(".")[0].partition("-")
            ours = kind in ("shard", "ids", "texts")
            if ours and number.isdecimal() and int(number) in share:
                with wrap_os_errors(path), suppress(FileNotFoundError):
                    if time.time() - path.stat().st_mtime < LEFTOVER_SECONDS:
                        continue
                    path.unlink(missing_ok=True)

    def how_to_open(self) -> str:
        """Two lines of Python that load all vectors."""
        files = str(self.folder / f"shard-*.{self.format}")
        if self.format == "parquet":
            return (
                "from datasets import load_dataset\n"
                f'vectors = load_dataset("parquet", data_files={files!r}, split="train")'
            )
        return (
            "import glob, numpy\n"
            f"vectors = numpy.concatenate([numpy.load(f) for f in sorted(glob.glob({files!r}))])"
        )


def _identity(path: Path) -> tuple[int, str]:
    """The rows of a file, and the digest of the manifest that it was made under."""
    if path.suffix == ".parquet":
        found = pq.read_metadata(path)
        return found.num_rows, (found.metadata or {}).get(DIGEST, b"").decode()
    rows = np.load(path, mmap_mode="r", allow_pickle=False)
    with path.open("rb") as file:
        file.seek(rows.offset + rows.nbytes)
        return len(rows), str(np.lib.format.read_array(file, allow_pickle=False))
