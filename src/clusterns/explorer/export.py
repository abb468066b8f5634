"""Tables for other programs: csv or JSON lines, by the name of the file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from clusterns.files import atomic_file


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table, whole or not at all; in csv, a list is JSON in its cell."""
    with (
        atomic_file(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        if path.suffix.lower() == ".jsonl":
            for row in rows:
                record = dict(zip(columns, row, strict=True))
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
            return
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in rows:
            writer.writerow(
                json.dumps(cell, ensure_ascii=False) if isinstance(cell, list) else cell
                for cell in row
            )
