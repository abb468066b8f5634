"""``clusterns lab list`` and ``run``: what there is, and doing it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clusterns.cli.engines import GpusOption, On, OnOption, SlurmOption, find_launcher
from clusterns.cli.lab.options import (
    LAB,
    BaseOption,
    Budget,
    BudgetOption,
    CorpusOption,
    Name,
    OnlyOption,
    SeedsOption,
    find_trials,
)
from clusterns.errors import Interrupted, UserError


def list_experiments() -> None:
    """List the experiments of the paper.

    clusterns lab run main

    Your own: copy the form of docs/lab.md into a file and name it in their place.
    """
    from rich.table import Table

    from clusterns.console import stdout
    from clusterns.lab.experiment import experiment_names, load_experiment

    table = Table("experiment", "what", "in the paper", "trials", box=None, pad_edge=False)
    for name in experiment_names():
        found = load_experiment(name)
        trials = sum(len(found.seeds_of(row)) for _, row, _ in found.lines())
        table.add_row(name, found.title, found.source, str(trials))
    stdout.print(table)


def run(
    experiment: Name,
    budget: BudgetOption = Budget.small,
    seeds: SeedsOption = None,
    base: BaseOption = None,
    corpus: CorpusOption = None,
    only: OnlyOption = None,
    output: Annotated[
        Path, typer.Option("--output", "--lab", help="Folder of the lab: trials, figures.")
    ] = LAB,
    workers: Annotated[
        int, typer.Option(min=1, help="Number of trials at a time, one thread each.")
    ] = 2,
    on: OnOption = On.local,
    gpus: GpusOption = 0,
    slurm: SlurmOption = None,
) -> None:
    """Run the trials of an experiment that have no result yet.

    The main table:   clusterns lab run main

    Go on after a stop of any kind: the same command again.

    Then:   clusterns lab table main
    """
    from clusterns.console import log, stdout
    from clusterns.lab.trial import run_trials

    _, trials = find_trials(experiment, budget, seeds, base, corpus, only, output)
    launcher = find_launcher(on, output / "engine", gpus, slurm)
    try:
        failed = run_trials(trials, launcher, workers)
    except KeyboardInterrupt:
        log("Stopped. Finished trials are kept; the others go on with the same command.")
        raise typer.Exit(130) from None
    finally:
        launcher.close()
    done = sum(trial.is_done for trial in trials)
    stdout.print(f"{done} of {len(trials)} trials have a result in {output}.", soft_wrap=True)
    for name, why in failed.items():
        stdout.print(f"failed: {name}: {why}", soft_wrap=True)
    if failed:
        raise typer.Exit(1)


def trial(folder: Annotated[Path, typer.Argument(help="Folder of the trial.")]) -> None:
    """Run one trial; `clusterns lab run` hands them out."""
    if not (folder / "cell.json").is_file():
        raise UserError(f"{folder} is not a trial of a lab: `clusterns lab run` makes them.")

    from clusterns.api.lab import run_trial
    from clusterns.cli.quiet import quiet_libraries
    from clusterns.console import log

    quiet_libraries()
    try:
        run_trial(folder)
    except Interrupted as stop:
        log(f"Stopped: {stop}.")
        raise typer.Exit(130) from None
