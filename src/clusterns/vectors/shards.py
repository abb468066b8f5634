"""The files of an encoded corpus: each is written whole or not at all."""

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

from clusterns.files import disk_errors, whole_file
from clusterns.vectors.settings import Format, Share

LEFTOVER_SECONDS = 3600


@dataclass(frozen=True)
class Shards:
    """The shards in a folder.

    parquet: ``shard-00000.parquet`` with the columns id and embedding. npy: ``ids-00000.npy`` and
    ``shard-00000.npy``; the vectors come last, so where they are, the ids are.
    """

    folder: Path
    format: Format

    def path(self, number: int) -> Path:
        """The file whose presence says that a shard is done."""
        return self.folder / f"shard-{number:05d}.{self.format}"

    def ids_path(self, number: int) -> Path:
        """The ids beside a shard in npy."""
        return self.folder / f"ids-{number:05d}.npy"

    def is_done(self, number: int, rows: int) -> bool:
        """Tell whether a shard is there with so many rows; a crash of the machine can damage one."""
        try:
            if self.format == "parquet":
                return pq.read_metadata(self.path(number)).num_rows == rows
            sizes = [
                len(np.load(path, mmap_mode="r", allow_pickle=False))
                for path in (self.path(number), self.ids_path(number))
            ]
            return sizes == [rows, rows]
        except (OSError, ValueError, EOFError, pa.ArrowException):
            return False

    def write(self, number: int, ids: pa.ChunkedArray, vectors: NDArray[Any]) -> None:
        """Write one shard."""
        if self.format == "npy":
            # Text ids become an array of fixed width, which needs no pickle.
            whole = pa.types.is_integer(ids.type)
            _save(self.ids_path(number), ids.to_numpy() if whole else np.array(ids.to_pylist()))
            _save(self.path(number), vectors)
            return
        flat = pa.array(vectors.reshape(-1))
        embeddings = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
        with whole_file(self.path(number)) as temporary:
            # Parquet has no numbers below 32 bits; a dictionary of the 256 values makes them small.
            pq.write_table(
                pa.table({"id": ids, "embedding": embeddings}),
                temporary,
                compression="zstd",
                use_dictionary=vectors.itemsize == 1,
            )

    def remove_leftovers(self, share: Share) -> None:
        """Remove what a killed process of this share left half-written.

        Only old files: another machine may be at work on a young one.
        """
        for path in self.folder.glob(".*.partial"):
            kind, _, number = path.name[1:].split(".")[0].partition("-")
            if kind in ("shard", "ids") and number.isdecimal() and int(number) in share:
                with disk_errors(path), suppress(FileNotFoundError):
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


def _save(path: Path, values: NDArray[Any]) -> None:
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.save(file, values, allow_pickle=False)
