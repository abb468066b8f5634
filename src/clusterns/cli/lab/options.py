"""Options that the commands of a lab share."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from clusterns.lab.experiment import Experiment
    from clusterns.lab.trial import Trial


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
        help="Number of seeds per stochastic row. Default: as in the experiment.",
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
    typer.Option("--row", help="Only this row. May be repeated.", show_default=False),
]


def find_trials(
    experiment: str,
    budget: Budget,
    seeds: int | None,
    base: str | None,
    corpus: str | None,
    only: list[str] | None,
    folder: Path,
) -> tuple[Experiment, list[Trial]]:
    """An experiment by name or file, and those of its trials that the options ask for."""
    from clusterns.lab.experiment import load_experiment
    from clusterns.lab.trial import trials_of

    found = load_experiment(experiment)
    return found, trials_of(
        found, folder.resolve(), budget.value,
        seeds=seeds, base=base, corpus=corpus, only=only or (),
    )  # fmt: skip
