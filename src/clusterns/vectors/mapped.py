"""The shards of a folder as one memory-mapped file of unit vectors, created by the first search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.lib.format import open_memmap

from clusterns.console import bar, log
from clusterns.files import atomic_folder, read_json, write_json
from clusterns.vectors.ann import InvertedFile, is_installed
from clusterns.vectors.nearest import unit
from clusterns.vectors.store import Store

SEARCH = "search"  # next to the shards: the same vectors as one mapped file
VECTORS, ROWS, LISTS, FACTS = "vectors.npy", "rows.arrow", "lists.faiss", "index.json"
EXACT_UP_TO = 200_000  # texts


def is_ready(folder: Path, of: str) -> bool:
    """Whether the mapped files of the shards with this digest exist, with an inverted file if needed."""
    try:
        facts = read_json(folder / FACTS)
    except (OSError, ValueError):
        return False
    if not isinstance(facts, dict) or facts.get("of") != of:
        return False
    # If faiss was installed since then, rebuild with it.
    return "lists" in facts or not _wants_lists(facts["rows"])


def _wants_lists(rows: int) -> bool:
    return rows > EXACT_UP_TO and is_installed()


def prepare(store: Store, folder: Path, of: str, progress: bool) -> None:
    """Create the mapped files of an index atomically: unit vectors, and rows in an Arrow file."""
    count, dimension = store.texts, store.dimension
    facts: dict[str, Any] = {"of": of, "rows": count, "dimension": dimension}
    named = store.manifest.settings.id_column is not None
    known = {"id": pa.string() if named else pa.int64(), "text": pa.string()}
    schema = pa.schema({field.name: field.type for field in store.schema} | known)
    with atomic_folder(folder) as temporary:
        vectors = open_memmap(temporary / VECTORS, "w+", np.float32, (count, dimension))
        done = 0
        with (
            pa.OSFile(str(temporary / ROWS), "wb") as file,
            pa.ipc.new_file(file, schema) as writer,
            bar(total=count, desc="Open", unit=" texts", shown=progress) as shown,
        ):
            for table, block in store.blocks():
                vectors[done : done + len(block)] = unit(block)
                if "text" not in table.column_names:
                    table = table.append_column("text", pa.nulls(len(block)))
                writer.write_table(table.select(schema.names).cast(schema))
                done += len(block)
                shown.update(len(block))
        vectors.flush()
        if _wants_lists(count):
            log(f"More than {EXACT_UP_TO:,} texts: search is approximate (an inverted file).")
            lists = InvertedFile.build(vectors, progress)
            facts["lists"] = lists.save(temporary / LISTS)
            log(f"{describe(lists.recall.recall)}.")
        elif count > EXACT_UP_TO:
            log(
                f"More than {EXACT_UP_TO:,} texts: exact search is slow. `pip install "
                "'clusterns[faiss]'` makes it approximate and fast."
            )
        write_json(temporary / FACTS, facts)


def describe(recall: float) -> str:
    """Describe the recall of an inverted file."""
    return f"it finds {recall:.1%} of the 10 nearest (measured on this index)"
