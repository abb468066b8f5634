"""A lab: the cells of an experiment that have no result yet, handed to an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusterns.console import log
from clusterns.lab.cells import Cell, check_at_hand
from clusterns.lab.engines.driver import Driver, Task, duration
from clusterns.lab.engines.engine import Engine
from clusterns.lab.engines.program import Program
from clusterns.locks import is_free


def run_cells(cells: Sequence[Cell], engine: Engine, workers: int) -> dict[str, str]:
    """Run every cell without a result, and say how it goes.

    Returns:
        Why each of those failed that did, by name.
    """
    distinct = {cell.folder: cell for cell in cells}
    left = [cell for cell in distinct.values() if not cell.is_done]
    if len(left) < len(distinct):
        log(f"{len(distinct) - len(left)} of {len(distinct)} cells have their result already.")
    check_at_hand(left)
    for cell in left:
        cell.order()
    return Driver(engine, workers).run([_task(cell) for cell in left])


def _task(cell: Cell) -> Task:
    return Task(
        cell.name,
        Program(("lab", "cell", str(cell.folder)), str(cell.log)),
        lambda: cell.is_done,
        lambda: is_free(cell.folder),  # another lab in this folder may be at it
        lambda: summary(cell.result or {}),
    )


def summary(result: dict[str, Any]) -> str:
    """What came out of a cell, in a few words."""
    values = result["values"]
    metric = "STS-B dev" if result["metric"].startswith("STS-B") else result["metric"]
    scores = [f"{metric} {values['dev']:.1f}"]
    scores += [f"{name} {value:.1f}" for name, value in values.items() if name.endswith("/Avg.")]
    return f"{', '.join(scores)}; {duration(result['processor_seconds'])} of processor"
