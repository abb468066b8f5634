"""A lab that goes on from records: their cells are put back as if they had run here.

A cell's name stands for all that decides its numbers, and with one thread these are the same on every
machine: so a row of one's own can be compared with rows that somebody else has run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterns.errors import UserError
from clusterns.evaluation.results.results import Results, SuiteResult, read_items, read_sets
from clusterns.files import write_json
from clusterns.lab.cells import CELLS
from clusterns.lab.findings import ANSWERS
from clusterns.lab.records import Record, answers_file, cell_name

# Of a line in a record: its place in the table, which is not the cell's.
PLACE = ("line", "seed")


@dataclass
class Restored:
    """How many cells were put back, were there already, and have no answers row by row."""

    cells: int = 0
    there: int = 0
    without_answers: int = 0


def restore(records: Sequence[Path], lab: Path) -> Restored:
    """Put the cells of records (files, or folders of them) into ``lab``; what is there is left alone."""
    told = Restored()
    # Experiments have cells in common.
    cells = {
        cell_name(one.result): (path.parent, one.result)
        for path in _files(records)
        for line in Record.read(path).lines
        for one in line.outcomes
    }
    for name, (source, result) in cells.items():
        folder = lab / CELLS / name
        if (folder / "result.json").is_file():
            told.there += 1
            continue
        answers = read_items(answers_file(source, name))
        if answers:
            _results(name, result, answers).write(folder / ANSWERS)
        plain = {key: value for key, value in result.items() if key not in PLACE}
        write_json(folder / "result.json", plain)
        told.cells += 1
        told.without_answers += bool(result["suites"]) and not answers
    return told


def _files(records: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in records:
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not files:
            raise UserError(f"{path} holds no records of experiments (.jsonl).")
        found += files
    return found


def _results(name: str, result: Mapping[str, Any], answers: dict[str, Any]) -> Results:
    suites = {
        suite: SuiteResult(read_sets(one["sets"]), settings=one["settings"], seconds=one["seconds"])
        for suite, one in result["suites"].items()
    }
    return Results(name, {}, dict(result["record"]), suites, answers)
