"""Options that the commands of a lab share."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from clusterns.lab.cells import Cell
    from clusterns.lab.experiment import Experiment


class Budget(str, Enum):
    """What can be asked for with --budget."""

    small = "small"
    raw = "raw"
    paper = "paper"


Name = Annotated[
    str,
    typer.Argument(
        help="An experiment of `clusterns lab list`, or a YAML file of your own.",
        metavar="EXPERIMENT",
        show_default=False,
    ),
]
LabFolder = Annotated[Path, typer.Option("--lab", help="Folder of the lab.")]
LAB = Path("runs/lab")
BudgetOption = Annotated[
    Budget,
    typer.Option(
        help="small: minibert, minutes a trial on one thread. raw: the same from a masked language model "
        "(minibert-raw), for comparing methods. paper: the published settings, for GPUs."
    ),
]
SeedsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="So many seeds for every row that has chance in it. Without it: what the experiment says.",
        show_default=False,
    ),
]
BaseOption = Annotated[
    str | None,
    typer.Option(help="Another encoder to start from, for all rows.", show_default=False),
]
CorpusOption = Annotated[
    str | None,
    typer.Option(help="Another text to learn from, for all rows.", show_default=False),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(help="This row only. May be given several times.", show_default=False),
]


def find_cells(
    experiment: str,
    budget: Budget,
    seeds: int | None,
    base: str | None,
    corpus: str | None,
    only: list[str] | None,
    folder: Path,
) -> tuple[Experiment, list[Cell]]:
    """An experiment by name or file, and those of its cells that the options ask for."""
    from clusterns.lab.cells import cells_of
    from clusterns.lab.load import load_experiment

    found = load_experiment(experiment)
    return found, cells_of(
        found, folder.resolve(), budget.value,
        seeds=seeds, base=base, corpus=corpus, only=only or (),
    )  # fmt: skip
