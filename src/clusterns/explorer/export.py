"""Export tables as CSV or JSON lines, by the extension of the file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from clusterns.console import log
from clusterns.files import atomic_file


def write_rows(
    path: str | Path | None, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write a table atomically, if a path is given. In CSV, a list becomes a JSON cell."""
    if path is None:
        return
    count = 0
    with (
        atomic_file(Path(path)) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file)
        is_json = Path(path).suffix.lower() == ".jsonl"
        if not is_json:
            writer.writerow(columns)
        for row in rows:
            count += 1
            if is_json:
                record = dict(zip(columns, row, strict=True))
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
            else:
                cells = (
                    json.dumps(c, ensure_ascii=False) if isinstance(c, list) else c for c in row
                )
                writer.writerow(cells)
    log(f"Wrote {count:,} rows to {path}.")
