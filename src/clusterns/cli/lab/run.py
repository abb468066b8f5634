"""``clusterns lab list`` and ``run``: what there is, and doing it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clusterns.cli.engines import GpusOption, On, OnOption, SlurmOption, find_engine
from clusterns.cli.lab.options import (
    LAB,
    BaseOption,
    Budget,
    BudgetOption,
    CorpusOption,
    Name,
    OnlyOption,
    SeedsOption,
    find_cells,
)
from clusterns.errors import UserError


def list_experiments() -> None:
    """List the experiments of the paper.

    clusterns lab run main

    Your own: copy the form of docs/lab.md into a file and name it in their place.
    """
    from rich.table import Table

    from clusterns.console import stdout
    from clusterns.lab.load import experiment_names, load_experiment

    table = Table("experiment", "what", "in the paper", "cells", box=None, pad_edge=False)
    for name in experiment_names():
        found = load_experiment(name)
        cells = sum(len(found.seeds_of(row)) for _, row, _ in found.lines())
        table.add_row(name, found.title, found.source, str(cells))
    stdout.print(table)


def run(
    experiment: Name,
    budget: BudgetOption = Budget.small,
    seeds: SeedsOption = None,
    base: BaseOption = None,
    corpus: CorpusOption = None,
    only: OnlyOption = None,
    output: Annotated[
        Path, typer.Option("--output", "--lab", help="Folder of the lab: cells, figures.")
    ] = LAB,
    workers: Annotated[int, typer.Option(min=1, help="Cells at a time, one thread each.")] = 2,
    on: OnOption = On.local,
    gpus: GpusOption = 0,
    slurm: SlurmOption = None,
) -> None:
    """Run the cells of an experiment that have no result yet.

    The main table:   clusterns lab run main

    Go on after a stop of any kind: the same command again.

    Then:   clusterns lab table main
    """
    from clusterns.console import log, stdout
    from clusterns.lab.run import run_cells

    _, cells = find_cells(experiment, budget, seeds, base, corpus, only, output)
    engine = find_engine(on, output / "engine", gpus, slurm)
    try:
        failed = run_cells(cells, engine, workers)
    except KeyboardInterrupt:
        log("Stopping: the cells save what they have.")
        raise typer.Exit(130) from None
    finally:
        engine.close()
    done = sum(cell.is_done for cell in cells)
    stdout.print(f"{done} of {len(cells)} cells have a result in {output}.", soft_wrap=True)
    for name, why in failed.items():
        stdout.print(f"failed: {name}: {why}", soft_wrap=True)
    if failed:
        raise typer.Exit(1)


def cell(folder: Annotated[Path, typer.Argument(help="Folder of the cell.")]) -> None:
    """Run one cell; `clusterns lab run` hands them out."""
    if not (folder / "cell.json").is_file():
        raise UserError(f"{folder} is no cell of a lab: `clusterns lab run` makes them.")

    from clusterns.api.lab import run_cell
    from clusterns.cli.quiet import quiet_libraries
    from clusterns.console import log
    from clusterns.training.run import Interrupted

    quiet_libraries()
    try:
        run_cell(folder)
    except Interrupted as stop:
        log(f"Stopped: {stop}.")
        raise typer.Exit(130) from None
