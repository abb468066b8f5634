"""Text files as they come: any line end, a byte-order mark, UTF-8 or Latin-1; csv, tsv, jsonl."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from clusterns.errors import UserError


def read_text(path: Path) -> str:
    """Read a file as UTF-8 (with or without byte-order mark), else as Latin-1."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}.") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def read_lines(path: Path) -> list[str]:
    """Read the lines of a file.

    Lines end in LF or CRLF only: ``str.splitlines`` also cuts at characters that stand inside
    real sentences (U+0085, U+2028), which would shift every line after them.
    """
    lines = read_text(path).split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_table(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[Any]]]:
    """Yield (line number, the values of ``columns``) of a csv, tsv or jsonl file.

    A first row that names all the columns is a header and decides their places; without one they
    are the first columns, in that order. jsonl always goes by name.
    """
    if not path.is_file():
        raise UserError(f"{path} is not a file.")
    suffix = path.suffix.lower()
    if suffix in (".jsonl", ".json", ".ndjson"):
        yield from _json_rows(path, columns)
    elif suffix in (".csv", ".tsv", ".txt"):
        yield from _delimited_rows(path, columns, "," if suffix == ".csv" else "\t")
    else:
        raise UserError(f"{path}: evaluation files are .csv, .tsv (or .txt with tabs) or .jsonl.")


def _json_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[Any]]]:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            yield number, [row[column] for column in columns]
        except json.JSONDecodeError as error:
            raise UserError(f"{path}, line {number}: not JSON ({error.msg}).") from error
        except (KeyError, TypeError) as error:
            raise UserError(
                f"{path}, line {number}: needs an object with {', '.join(columns)}."
            ) from error


def _delimited_rows(
    path: Path, columns: Sequence[str], delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    # In tab-separated text a quote is a quote: nearly nobody escapes there, and a bare one would
    # swallow the lines after it.
    text = io.StringIO(read_text(path), newline="")
    if delimiter == ",":
        reader = csv.reader(text, strict=True)
    else:
        reader = csv.reader(text, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    places: list[int] | None = None
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if places is None:
                names = [cell.strip().lower() for cell in row]
                header = set(columns) <= set(names)
                places = [names.index(c) for c in columns] if header else [*range(len(columns))]
                if header:
                    continue
            if len(row) <= max(places):
                raise UserError(
                    f"{path}, line {reader.line_num}: {len(row)} columns where "
                    f"{', '.join(columns)} are needed."
                )
            yield reader.line_num, [row[place] for place in places]
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: {error}.") from error
