"""Result tables: to the terminal, to Markdown, to LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable

from clusterns.evaluation.results.results import LOWER_IS_BETTER, Results, SuiteResult
from clusterns.files import whole_file

AVERAGE = "Avg."
SIDE_BY_SIDE = 4  # models
AVERAGED = ("sts", "transfer", "clustering")
TITLES = {
    "sts": "STS (Spearman x100)",
    "transfer": "Transfer (accuracy)",
    "clustering": "Clustering (accuracy; DBpedia: AMI x100)",
    "geometry": "Geometry (lower is better)",
    "own": "Own sets",
    "mteb": "MTEB (main score x100)",
}

Published = Mapping[str, Mapping[str, float]]


@dataclass
class Table:
    """Numbers (or words) in rows and columns, None where there is none; the best are marked."""

    title: str
    columns: list[str]
    rows: list[tuple[str, list[float | str | None]]] = field(default_factory=list)
    spreads: list[list[float | None]] = field(default_factory=list)
    lower_is_better: bool = False
    digits: int = 2
    mark_best: bool = True
    notes: list[str] = field(default_factory=list)

    def best(self, column: int) -> float | None:
        """The best number of a column as it is printed; None where there is nothing to compare."""
        cells = [row[column] for _, row in self.rows]
        numbers = [round(cell, self.digits) for cell in cells if isinstance(cell, int | float)]
        if len(numbers) < 2 or not self.mark_best:
            return None
        return min(numbers) if self.lower_is_better else max(numbers)

    def cells(self, bold: str, spread: str, nothing: str) -> list[list[str]]:
        """The table as text; ``bold`` and ``spread`` are patterns of the format."""
        best = [self.best(column) for column in range(len(self.columns))]
        lines = []
        for number, (label, values) in enumerate(self.rows):
            line = [label]
            for column, value in enumerate(values):
                if not isinstance(value, int | float):
                    line.append(value or nothing)
                    continue
                text = f"{value:.{self.digits}f}"
                if round(value, self.digits) == best[column]:
                    text = bold.format(text)
                deviation = self.spreads[number][column] if self.spreads else None
                line.append(text + (spread.format(deviation) if deviation is not None else ""))
            lines.append(line)
        return lines

    def show(self, console: Console) -> None:
        """Print to a terminal.

        A few models stand side by side with a set a line, which fits 80 columns; many stand below
        each other, without spreads.
        """
        across = len(self.rows) <= SIDE_BY_SIDE
        grid = self.cells("[bold]{}[/bold]", " ±{:.1f}" if across else "", "-")
        grid.insert(0, ["", *self.columns])
        words = any(isinstance(cell, str) for _, row in self.rows for cell in row)
        if across and not words:
            grid = [list(column) for column in zip(*grid, strict=True)]
        head, *body = grid
        table = RichTable(title=self.title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column(head[0], overflow="fold")
        for name in head[1:]:
            table.add_column(name, justify="left" if words else "right")
        for line in body:
            table.add_row(*line)
        console.print(table)
        for note in self.notes:
            console.print(f"[dim]{note}[/dim]")

    def markdown(self) -> str:
        """For a README."""
        lines = [f"### {self.title}", "", f"| Model | {' | '.join(self.columns)} |"]
        lines.append("|---|" + "---:|" * len(self.columns))
        for line in self.cells("**{}**", " ± {:.1f}", "-"):
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |")
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)]) + "\n"

    def latex(self) -> str:
        """For a paper; needs no package."""
        body = [
            " & ".join([_escape(line[0]), *line[1:]]) + r" \\"
            for line in self.cells(r"\textbf{{{}}}", r" {{\tiny$\pm${:.1f}}}", "--")
        ]
        head = " & ".join(["Model", *map(_escape, self.columns)]) + r" \\"
        return (
            "\n".join(
                [
                    f"% {self.title}",
                    rf"\begin{{tabular}}{{l{'r' * len(self.columns)}}}",
                    r"\hline",
                    head + r" \hline",
                    *body,
                    r"\hline",
                    r"\end{tabular}",
                    *(f"% {note}" for note in self.notes),
                ]
            )
            + "\n"
        )


def suite_table(
    suite: str,
    models: Sequence[tuple[str, SuiteResult]],
    published: Published | None = None,
) -> Table:
    """One suite of one or more models side by side, below published rows where they are given."""
    names = list(dict.fromkeys(name for _, result in models for name in result.sets))
    table = Table(
        TITLES.get(suite, suite),
        list(names),
        lower_is_better=suite in LOWER_IS_BETTER,
        digits=3 if suite == "geometry" else 2,
    )
    for label, numbers in (published or {}).items():
        if any(name in numbers for name in names):
            table.rows.append((f"{label} (paper)", [numbers.get(name) for name in names]))
            table.spreads.append([None] * len(names))
    for label, result in models:
        sets = [result.sets.get(name) for name in names]
        table.rows.append((label, [one.value if one else None for one in sets]))
        table.spreads.append([one.spread if one else None for one in sets])
    if suite in AVERAGED:
        _add_average(table, models, published or {})
    if suite == "own":
        metrics = {name: one.metric for _, r in models for name, one in r.sets.items()}
        table.columns = [f"{name} ({metrics[name]})" for name in names]
    _add_notes(table, models)
    return table


def _add_average(
    table: Table, models: Sequence[tuple[str, SuiteResult]], published: Published
) -> None:
    """Append the mean over the sets that all models have; DBpedia's AMI stays out of it.

    A published row keeps its printed average where that is over the same sets.
    """
    names = [name for name in table.columns if name != "DBpedia"]
    shared = [name for name in names if all(name in result.sets for _, result in models)]
    places = [table.columns.index(name) for name in shared]
    if not places:
        return
    table.columns.append(AVERAGE)
    printed = {f"{label} (paper)": numbers for label, numbers in published.items()}
    for (label, values), spreads in zip(table.rows, table.spreads, strict=True):
        numbers = [value for place in places if isinstance(value := values[place], int | float)]
        average = sum(numbers) / len(numbers) if len(numbers) == len(places) else None
        if set(printed.get(label, ())) - {"DBpedia"} == {*shared, AVERAGE}:
            average = printed[label][AVERAGE]
        values.append(average)
        spreads.append(None)
    if shared != names or any(result.missing for _, result in models):
        table.notes.append(f"{AVERAGE}: over {', '.join(shared)}.")


def _add_notes(table: Table, models: Sequence[tuple[str, SuiteResult]]) -> None:
    missing = dict.fromkeys(name for _, result in models for name in result.missing)
    if missing:
        table.notes.append(f"Not at hand: {', '.join(missing)}.")
    cut: dict[str, float] = {}
    for _, result in models:
        for name, one in result.sets.items():
            cut[name] = max(one.truncated, cut.get(name, 0))
    rates = [f"{name} {100 * rate:.2g} %" for name, rate in cut.items() if rate > 0]
    if rates:
        table.notes.append(f"Sentences longer than a model reads: {', '.join(rates)}.")


def results_tables(
    models: Sequence[Results], published: Callable[[str], Published] = lambda suite: {}
) -> list[Table]:
    """A table for each suite that any of the models has."""
    suites = dict.fromkeys(name for model in models for name in model.suites)
    return [
        suite_table(
            suite,
            [(m.name, m.suites[suite]) for m in models if suite in m.suites],
            published(suite),
        )
        for suite in suites
    ]


def write_tables(path: Path, tables: Sequence[Table]) -> None:
    """Write tables to a .md or .tex file."""
    latex = path.suffix.lower() == ".tex"
    with whole_file(path) as temporary:
        text = "\n".join(table.latex() if latex else table.markdown() for table in tables)
        temporary.write_text(text, "utf-8")


def _escape(text: str) -> str:
    for character in "\\&%$#_{}":
        text = text.replace(character, "\\" + character)
    return text.replace("\\\\", r"\textbackslash ")
