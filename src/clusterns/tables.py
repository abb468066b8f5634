"""Tables for the terminal, Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from clusterns.console import printable
from clusterns.files import atomic_file

MAX_SIDE_BY_SIDE = 4  # rows
# "not shown" and "[main](#main)" are words; "3 of 5" and "≤ 0.005" are numbers.
WORDS = re.compile(r"\W*[^\W\d]")


class Cell(NamedTuple):
    """A cell of a table."""

    text: str | None
    best: bool = False
    spread: str | None = None

    def written(
        self, bold: str, spread: str, nothing: str, escaped: Callable[[str], str] = str
    ) -> str:
        """The cell as text; ``bold`` and ``spread`` are format patterns, ``escaped`` escapes special characters."""
        if self.text is None:
            return nothing
        text = escaped(self.text)
        text = bold.format(text) if self.best else text
        return text + (spread.format(self.spread) if self.spread else "")


@dataclass
class Table:
    """Numbers or words in rows and columns, None for an empty cell; the best numbers are marked.

    ``lower_is_better`` and ``mark_best`` hold for all columns, or give a value for each.
    """

    title: str
    columns: list[str]
    rows: list[tuple[str, list[float | str | None]]] = field(default_factory=list)
    spreads: list[list[float | None]] = field(default_factory=list)
    lower_is_better: bool | Sequence[bool] = False
    digits: int = 2
    spread_digits: int = 1
    mark_best: bool | Sequence[bool] = True
    notes: list[str] = field(default_factory=list)
    corner: str = ""

    def best(self, column: int) -> float | None:
        """The best number of a column as printed; None if there is nothing to compare."""
        cells = [row[column] for _, row in self.rows]
        numbers = [round(cell, self.digits) for cell in cells if isinstance(cell, int | float)]
        if len(numbers) < 2 or not _for_column(self.mark_best, column):
            return None
        return min(numbers) if _for_column(self.lower_is_better, column) else max(numbers)

    def holds_words(self) -> list[bool]:
        """Whether each column holds words and is left-aligned."""
        columns = [[row[place] for _, row in self.rows] for place in range(len(self.columns))]
        return [
            any(isinstance(cell, str) and WORDS.match(cell) is not None for cell in column)
            for column in columns
        ]

    def cells(self) -> list[list[Cell]]:
        """The rows, each with its label first."""
        best = [self.best(column) for column in range(len(self.columns))]
        lines = []
        for number, (label, values) in enumerate(self.rows):
            line = [Cell(label)]
            for column, value in enumerate(values):
                if not isinstance(value, int | float):
                    line.append(Cell(value or None))
                    continue
                marked = round(value, self.digits) == best[column]
                spread = self.spreads[number][column] if self.spreads else None
                shown = None if spread is None else f"{spread:.{self.spread_digits}f}"
                line.append(Cell(f"{value:.{self.digits}f}", marked, shown))
            lines.append(line)
        return lines

    def written(
        self, bold: str, spread: str, nothing: str, escaped: Callable[[str], str] = str
    ) -> list[list[str]]:
        """The rows as text; the arguments are those of :meth:`Cell.written`."""
        return [
            [cell.written(bold, spread, nothing, escaped) for cell in line] for line in self.cells()
        ]

    def show(self, console: Console) -> None:
        """Print to a terminal.

        Up to four rows of numbers are transposed, one line per column, to fit 80 characters; larger tables are
        printed once per row, without spreads.
        """
        across = len(self.rows) <= MAX_SIDE_BY_SIDE
        words = any(isinstance(cell, str) for _, row in self.rows for cell in row)
        grid = [[Cell(self.corner), *map(Cell, self.columns)], *self.cells()]
        if across and not words:
            grid = [list(column) for column in zip(*grid, strict=True)]
        head, *body = [
            [
                _text(
                    cell.written("{}", " ±{}" if across else "", "-"),
                    "bold" if cell.best else "",
                )
                for cell in line
            ]
            for line in grid
        ]
        table = RichTable(
            title=_text(self.title) if self.title else None,
            box=SIMPLE_HEAD,
            padding=(0, 1, 0, 0),
            pad_edge=False,
        )
        table.add_column(head[0], overflow="fold")
        for name in head[1:]:
            table.add_column(name, justify="left" if words else "right")
        for line in body:
            table.add_row(*line)
        console.print(table)
        for note in self.notes:
            console.print(_text(note, "dim"))

    def markdown(self) -> str:
        """Format as Markdown."""
        lines = [f"### {self.title}", ""] if self.title else []
        lines.append(_markdown_line([self.corner or "Model", *self.columns]))
        lines.append("|---|" + "".join("---|" if word else "---:|" for word in self.holds_words()))
        lines += [_markdown_line(line) for line in self.written("**{}**", " ± {}", "-")]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)]) + "\n"

    def latex(self) -> str:
        """Format as LaTeX; needs no LaTeX package."""
        body = [
            " & ".join(line) + r" \\"
            for line in self.written(r"\textbf{{{}}}", r" {{\tiny$\pm${}}}", "--", _latex)
        ]
        head = " & ".join(map(_latex, [self.corner or "Model", *self.columns])) + r" \\"
        lines = [
            f"% {self.title}",
            rf"\begin{{tabular}}{{l{''.join('l' if word else 'r' for word in self.holds_words())}}}",
            r"\hline",
            head + r" \hline",
            *body,
            r"\hline",
            r"\end{tabular}",
            *(f"% {note}" for note in self.notes),
        ]
        return "\n".join(lines) + "\n"


def tables_as(form: str, tables: Sequence[Table]) -> str:
    """Format tables as the content of a file with the extension ``form``: md or tex."""
    return "\n".join(table.latex() if form == "tex" else table.markdown() for table in tables)


def write_tables(path: Path, tables: Sequence[Table]) -> None:
    """Write tables to a .md or .tex file."""
    with atomic_file(path) as temporary:
        temporary.write_text(tables_as(path.suffix.lower()[1:], tables), "utf-8")


def _for_column(values: bool | Sequence[bool], column: int) -> bool:
    return values if isinstance(values, bool) else values[column]


def _text(text: str, style: str = "") -> Text:
    """Literal text without control characters."""
    return Text(printable(text), style)


def _markdown_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _latex(text: str) -> str:
    for character in "\\&%$#_{}":
        text = text.replace(character, "\\" + character)
    text = text.replace("\\\\", r"\textbackslash ").replace("≤", r"$\le$")
    return text.replace("^", r"\textasciicircum{}").replace("~", r"\textasciitilde{}")
