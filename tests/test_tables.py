from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from clusterns.tables import Table, write_tables


def shown(table: Table, **options: Any) -> str:
    console = Console(width=80, **options)
    with console.capture() as captured:
        table.show(console)
    return captured.get()


def test_the_three_forms(tmp_path: Path) -> None:
    table = Table("T", ["x_1"], [("a|b & c", [1.0]), ("d", [2.0])], [[0.5], [None]])
    write_tables(tmp_path / "t.md", [table])
    write_tables(tmp_path / "t.tex", [table])
    markdown, latex = (tmp_path / "t.md").read_text(), (tmp_path / "t.tex").read_text()
    assert "| a\\|b & c | 1.00 ± 0.5 |\n| d | **2.00** |" in markdown
    assert "Model & x\\_1 \\\\ \\hline" in latex
    assert "a|b \\& c & 1.00 {\\tiny$\\pm$0.5} \\\\\nd & \\textbf{2.00} \\\\" in latex
    assert "1.00 ±0.5" in shown(table)


def test_words_of_a_cell_are_escaped_in_latex() -> None:
    table = Table("T", ["x"], [("a", ["5 % ≤ b_c"])])
    assert r"a & 5 \% $\le$ b\_c \\" in table.latex()
    table.rows = [("a", ["3^2 ~ x"])]
    assert r"a & 3\textasciicircum{}2 \textasciitilde{} x \\" in table.latex()


def test_words_stand_on_the_left_and_numbers_on_the_right() -> None:
    values = [1.0, "3 of 5", "≤ 0.005", "[main](#main)", None, "+0.1 to 0.2"]
    table = Table("T", ["a", "b", "c", "d", "e", "f"], [("x", values), ("y", [None] * 6)])
    assert "|---|---:|---:|---:|---|---:|---:|" in table.markdown().splitlines()
    assert r"\begin{tabular}{lrrrlrr}" in table.latex()


def test_words_in_cells() -> None:
    table = Table("T", ["x"], [("a", ["yes"]), ("b", [None])])
    assert table.written("*{}*", "", "-") == [["a", "yes"], ["b", "-"]]


def test_names_with_brackets_are_names() -> None:
    for rows in (2, 6):  # side by side, and below each other
        table = Table("T [x]", ["s [cls]"], [(f"bert [cls] {i}", [1.0 + i]) for i in range(rows)])
        table.rows.append(("[/old]", [0.5]))
        table.notes.append("over [bold] and [/bold]")
        text = " ".join(shown(table).split())
        for name in ("T [x]", "s [cls]", "bert [cls] 1", "[/old]", "over [bold] and [/bold]"):
            assert name in text


def test_columns_with_a_direction_each() -> None:
    table = Table(
        "T", ["up", "down"], [("a", [1, 1]), ("b", [2, 2])], lower_is_better=[False, True]
    )
    assert table.written("*{}*", "", "-") == [["a", "1.00", "*1.00*"], ["b", "*2.00*", "2.00"]]


def test_the_best_is_bold_on_a_terminal() -> None:
    table = Table("T", ["x"], [("a", [1.0]), ("b", [2.0])])
    written = shown(table, force_terminal=True, color_system="standard")
    assert "\x1b[1m2.00\x1b[0m" in written
    assert "\x1b[1m1.00" not in written
