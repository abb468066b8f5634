"""CSV and tab-separated text as people have them: with or without a header, a ragged line now and then.

- In a .csv file, a tab in the first line makes tabs the separator, else a comma, else a semicolon. Any other file is
  tab-separated and has no quoting: a quotation mark is just a quotation mark.
- The first line is a header if the user gave a column by name, if it contains an alias of a column, or if it could
  hold names and a column below it holds only numbers. It is a row if it contains a number, a sentence, or a cell that
  occurs again in its column. Otherwise it is a row if the user gave columns by number; else the caller decides.
- Empty cells at the end of a line do not count. A table has as many columns as its header names; without a header, as
  many as nine in ten of its first lines have. A line with too many or too few cells is skipped and counted. If more
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
from clusterns.data.lines import LONGEST_LINE, text_lines
from clusterns.errors import UserError

SAMPLE = 100  # lines after the first one that decide what the columns hold
MANY = 100  # ragged lines after which a file of mostly ragged lines is refused
LONGEST_NAME = 40  # characters
MOST_WORDS = 4  # of a name

Cells = list[str]


class Delimited:
    """An opened table, whose columns are found.

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
        self._least = self._most = 0
        if not filled:
            return
        if _is_header(path, filled[0], filled[1:], columns, assume_header):
            self._header = filled.pop(0)
            self._names = self._header[: _width(self._header)]
            self._least = self._most = len(self._names)
        else:
            widths = sorted(map(_width, filled))
            self._most = widths[int(0.9 * (len(widths) - 1))]
            self._names = (filled[0] + [""] * self._most)[: self._most]
        if self._most == 1 and file_format(path) in TEXTS:
            roles = ", ".join(column.role for column in columns if column.given or not column.infer)
            raise UserError(f"{path} is plain text: it has no tabs, and so no column of {roles}.")
        texts = [  # the columns in which not all cells are numbers
            place
            for place in range(self._most)
            if not filled
            or not all(_is_number(cells[place]) for cells in filled if len(cells) > place)
        ]
        self._places = find_columns(
            path, self._names, texts, columns, numbered=True, header=self._header is not None
        )
        self._least = self._least or max(self._places) + 1

    @property
    def description(self) -> str:
        """The columns that are read, for people."""
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
        rows, trouble = 0, ""
        for line, cells in chain(self._sample, self._lines):
            if cells is self._header:
                continue
            rows += 1
            fits = len(cells) >= self._least and (
                len(cells) <= self._most or _width(cells) <= self._most
            )
            if cells and not fits:
                self.ragged += 1
                needs = "the lines above have" if self._header is None else "the first line names"
                trouble = trouble or (
                    f"{self._path}: line {line:,} has {len(cells)} cells, but {needs} {self._most} "
                    "columns. The same is true of more than half of the lines."
                )
                if self.ragged > MANY and 2 * self.ragged > rows:
                    raise UserError(trouble)
            yield line, [cells[place] for place in self._places] if cells and fits else None
        if 2 * self.ragged > rows:
            raise UserError(trouble)


def _cells(path: Path, raw: BinaryIO) -> Iterator[tuple[int, Cells]]:
    """Yield each row with its first line number; a blank row is an empty list."""
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
    # The module's own limit, one for the whole process, is 131,072 characters.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    try:
        for row in rows:
            yield line, row if any(map(str.strip, row)) else []
            line = rows.line_num + 1
    except csv.Error as error:
        raise UserError(
            f"{path}: line {line:,} is broken csv ({error}). Is a quotation mark missing, or not "
            f"doubled inside a quoted cell? (A cell holds at most {LONGEST_LINE:,} characters.)"
        ) from error


def _is_header(
    path: Path, first: Cells, rows: list[Cells], columns: Sequence[Column], assume_header: bool
) -> bool:
    if any(column.name is not None for column in columns):
        return True
    known = {aliases for column in columns for aliases in column.aliases}
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
        f"{path}: is its first line, {listed(first)}, a header or a row? Say which columns hold "
        f"{roles}, by name for a header or by number for a row"
        f"{f' ({columns[0].option})' if columns[0].option else ''}."
    )


def _may_be_name(cell: str) -> bool:
    words = cell.split()
    sentence = len(words) > 1 and cell.rstrip()[-1] in ".!?"
    return (
        len(cell) <= LONGEST_NAME
        and len(words) <= MOST_WORDS
        and not (sentence or (cell and _is_number(cell)))
    )


def _width(cells: Cells) -> int:
    """The number of cells without empty ones at the end."""
    return next((place for place in range(len(cells), 0, -1) if cells[place - 1]), 0)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return not cell.strip()
    return True
