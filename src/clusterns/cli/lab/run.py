"""``clusterns lab``: experiments over seeds, anywhere, and what they show."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clusterns.cli.common import common
from clusterns.errors import UserError

if TYPE_CHECKING:
    from clusterns.lab.cells import Cell

lab = typer.Typer(
    help="Experiments: methods over seeds, their tables and figures.", no_args_is_help=True
)


@lab.callback()
def _group() -> None:
    """Experiments: methods over seeds, their tables and figures."""


class Budget(str, Enum):
    """What can be asked for with --budget."""

    small = "small"
    paper = "paper"


class On(str, Enum):
    """What can be asked for with --on."""

    local = "local"
    ray = "ray"
    slurm = "slurm"


Name = Annotated[
    str,
    typer.Argument(
        help="An experiment of `clusterns lab list`, or a YAML file of your own.",
        metavar="EXPERIMENT",
        show_default=False,
    ),
]
Output = Annotated[Path, typer.Option(help="Folder of the lab: cells, tables, figures.")]
BudgetOption = Annotated[
    Budget,
    typer.Option(
        help="small: minibert, minutes a cell on one thread. paper: the published settings, for GPUs."
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


@lab.command("list")
@common
def list_experiments() -> None:
    """List the experiments of the paper.

    clusterns lab run main

    Your own: copy the form of docs/lab.md into a file and name it in their place.
    """
    from rich.table import Table

    from clusterns.console import answers
    from clusterns.lab.experiment import experiment_names, load_experiment

    table = Table("experiment", "what", "in the paper", "cells", box=None, pad_edge=False)
    for name in experiment_names():
        found = load_experiment(name)
        cells = sum(len(found.seeds_of(row)) for _, row, _ in found.lines())
        table.add_row(name, found.title, found.source, str(cells))
    answers.print(table)


@lab.command()
@common
def run(
    experiment: Name,
    budget: BudgetOption = Budget.small,
    seeds: SeedsOption = None,
    base: BaseOption = None,
    corpus: CorpusOption = None,
    only: OnlyOption = None,
    output: Output = Path("runs/lab"),
    workers: Annotated[int, typer.Option(min=1, help="Cells at a time, one thread each.")] = 2,
    on: Annotated[On, typer.Option(help="Where cells run.")] = On.local,
) -> None:
    """Run the cells of an experiment that have no result yet.

    The main table:   clusterns lab run main

    Go on after a stop of any kind: the same command again.

    Then:   clusterns lab table main
    """
    from clusterns.console import answers, say
    from clusterns.lab.engines.engine import make_engine
    from clusterns.lab.run import run_cells

    cells = _cells(experiment, budget, seeds, base, corpus, only, output)
    engine = make_engine(on.value, str(output / "engine"))
    try:
        failed = run_cells(cells, engine, workers)
    except KeyboardInterrupt:
        say("Stopping: the cells save what they have.")
        raise typer.Exit(130) from None
    finally:
        engine.close()
    done = sum(cell.is_done for cell in cells)
    answers.print(f"{done} of {len(cells)} cells have a result in {output}.", soft_wrap=True)
    for name, why in failed.items():
        answers.print(f"failed: {name}: {why}", soft_wrap=True)
    if failed:
        raise typer.Exit(1)


@lab.command(hidden=True)
@common
def cell(folder: Annotated[Path, typer.Argument(help="Folder of the cell.")]) -> None:
    """Run one cell; `clusterns lab run` hands them out."""
    from clusterns.api.lab import run_cell
    from clusterns.cli.quiet import quiet_libraries

    if not (folder / "cell.json").is_file():
        raise UserError(f"{folder} is no cell of a lab: `clusterns lab run` makes them.")
    quiet_libraries()
    run_cell(folder)


def _cells(
    experiment: str,
    budget: Budget,
    seeds: int | None,
    base: str | None,
    corpus: str | None,
    only: list[str] | None,
    output: Path,
) -> list[Cell]:
    from clusterns.lab.cells import cells_of
    from clusterns.lab.experiment import load_experiment

    return cells_of(
        load_experiment(experiment), output.resolve(), budget.value,
        seeds=seeds, base=base, corpus=corpus, only=only or (),
    )  # fmt: skip
