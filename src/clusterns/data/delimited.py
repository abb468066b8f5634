"""Real-world CSV and tab-separated text, with or without a header, possibly with ragged lines.

- A .csv file is separated by tabs if its first line has one, else by commas, else by semicolons. Any other file is
  tab-separated and has no quoting: a quotation mark is just a quotation mark.
- The first line is a header if the user passed a column name, if it contains an alias of a column, or if it could
  contain names and a column below it has only numbers. It is a row if it contains a number, a sentence, or a cell that
  occurs again in its column. Otherwise it is a row if the user passed column numbers; else the caller decides.
- Trailing empty cells do not count. A table has as many columns as its header; without a header, as
  many as nine in ten of its first lines have. Lines with too many or too few cells are skipped and counted. If more
  than half of the lines do not fit, the file is refused.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from clusterns.data.columns import Column, find_columns, listed
from clusterns.data.kinds import TEXTS, file_format
from clusterns.data.lines import MAX_LINE_CHARS, text_lines
from clusterns.errors import UserError

SAMPLE = 100  # lines after the first that determine which columns are text
MAX_RAGGED = 100  # ragged lines before a file of mostly ragged lines is refused early
MAX_NAME_CHARS = 40
MAX_NAME_WORDS = 4

Cells = list[str]


class Delimited:
    """An opened table with its columns located.

    Args:
        path: name of the file.
        raw: the opened file.
        columns: the columns to read.
        assume_header: whether an ambiguous first line is a header; otherwise the file is refused.
    """

    def __init__(
        self, path: Path, raw: BinaryIO, columns: Sequence[Column], *, assume_header: bool = True
    ) -> None:
        self.ragged = 0
        self._path, self._columns = path, columns
        self._lines = _cells(path, raw)
        self._sample = list(islice(self._lines, 1 + SAMPLE))
        filled = [cells for _, cells in self._sample if cells]
        self._header: Cells | None = None
        self._names: Cells = []
        self._places: list[int] = []
        self._min_width = self._max_width = 0
        if not filled:
            return
        if _is_header(path, filled[0], filled[1:], columns, assume_header):
            self._header = filled.pop(0)
            self._names = self._header[: _width(self._header)]
            self._min_width = self._max_width = len(self._names)
        else:
            widths = sorted(map(_width, filled))
            self._max_width = widths[int(0.9 * (len(widths) - 1))]
            self._names = (filled[0] + [""] * self._max_width)[: self._max_width]
        if self._max_width == 1 and file_format(path) in TEXTS:
            roles = ", ".join(column.role for column in columns if column.given or not column.infer)
            raise UserError(f"{path} is plain text without tabs, so it has no column of {roles}.")
        texts = [  # columns that are not all numbers
            place
            for place in range(self._max_width)
            if not filled
            or not all(_is_number(cells[place]) for cells in filled if len(cells) > place)
        ]
        self._places = find_columns(
            path, self._names, texts, columns, numbered=True, header=self._header is not None
        )
        self._min_width = self._min_width or max(self._places) + 1

    @property
    def description(self) -> str:
        """The columns that are read, for messages."""
        if not self._names:
            return "empty"
        parts = []
        for column, place in zip(self._columns, self._places, strict=True):
            name = "" if self._header is None else f" {self._names[place]!r}"
            parts.append(f"{column.role} is column {place + 1}{name}")
        first = "no header" if self._header is None else "the first line is the header"
        return f"{first}; {', '.join(parts)}"

    def __iter__(self) -> Iterator[tuple[int, Cells | None]]:
        """Yield each line's number and cells; None for a blank or ragged line."""
        rows, error = 0, ""
        for line, cells in chain(self._sample, self._lines):
            if cells is self._header:
                continue
            rows += 1
            fits = len(cells) >= self._min_width and (
                len(cells) <= self._max_width or _width(cells) <= self._max_width
            )
            if cells and not fits:
                self.ragged += 1
                needs = "the lines above have" if self._header is None else "the header has"
                error = error or (
                    f"{self._path}: line {line:,} has {len(cells)} cells, but {needs} {self._max_width} "
                    "columns. The same is true of more than half of the lines."
                )
                if self.ragged > MAX_RAGGED and 2 * self.ragged > rows:
                    raise UserError(error)
            yield line, [cells[place] for place in self._places] if cells and fits else None
        if 2 * self.ragged > rows:
            raise UserError(error)


def _cells(path: Path, raw: BinaryIO) -> Iterator[tuple[int, Cells]]:
    """Yield the first line number and the cells of each row; a blank row is an empty list."""
    later = (line + "\n" for line in text_lines(path, raw))
    first = next(later, "")
    marks = "\t,;" if file_format(path) == ".csv" else "\t"
    separator = next((mark for mark in marks if mark in first), marks[:2][-1])
    lines = chain([first] if first else [], later)
    if separator == "\t":
        rows = csv.reader(lines, "excel-tab", quoting=csv.QUOTE_NONE)
    else:
        rows = csv.reader(lines, delimiter=separator, strict=True)
    line = 1
    # The csv module's own limit, which is global to the process, is 131,072 characters.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_CHARS))
    try:
        for row in rows:
            yield line, row if any(map(str.strip, row)) else []
            line = rows.line_num + 1
    except csv.Error as error:
        raise UserError(
            f"{path}: line {line:,} is malformed CSV ({error}). Is a quotation mark missing, or not "
            f"doubled inside a quoted cell? (The maximum cell length is {MAX_LINE_CHARS:,} characters.)"
        ) from error


def _is_header(
    path: Path, first: Cells, rows: list[Cells], columns: Sequence[Column], assume_header: bool
) -> bool:
    if any(column.name is not None for column in columns):
        return True
    known = {alias for column in columns for alias in column.aliases}
    if known & {cell.strip().casefold() for cell in first}:
        return True
    if not all(_may_be_name(cell) for cell in first):
        return False
    for place, name in enumerate(first):
        below = [cells[place] for cells in rows if len(cells) > place and cells[place]]
        if below and all(map(_is_number, below)):
            return True
        if name and name in below:
            return False
    if any(column.number is not None for column in columns):
        return False
    if assume_header or not first:
        return True
    roles = ", ".join(column.role for column in columns)
    raise UserError(
        f"{path}: is its first line, {listed(first)}, a header or a row? Specify the columns of "
        f"{roles}, by name for a header or by number for a row"
        f"{f' ({columns[0].option})' if columns[0].option else ''}."
    )


def _may_be_name(cell: str) -> bool:
    words = cell.split()
    sentence = len(words) > 1 and cell.rstrip()[-1] in ".!?"
    return (
        len(cell) <= MAX_NAME_CHARS
        and len(words) <= MAX_NAME_WORDS
        and not (sentence or (cell and _is_number(cell)))
    )


def _width(cells: Cells) -> int:
    """The number of cells, without trailing empty ones."""
    return next((place for place in range(len(cells), 0, -1) if cells[place - 1]), 0)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return not cell.strip()
    return True
