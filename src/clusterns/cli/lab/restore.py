"""``clusterns lab restore``: go on from records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clusterns.cli.lab.options import LAB, LabFolder


def restore(
    records: Annotated[
        list[Path],
        typer.Argument(
            help="Records of experiments (.jsonl), or folders of them.",
            metavar="RECORDS",
            show_default=False,
        ),
    ],
    lab: LabFolder = LAB,
) -> None:
    """Put the trials of records into a lab, so that only what they lack is run.

    The rows of this project's own tables, to compare yours with:

    clusterns lab restore results/lab

    Then:   clusterns lab run mine.yaml
    """
    from clusterns.console import stdout
    from clusterns.lab.restore import restore as put_back

    told = put_back(records, lab.resolve())
    stdout.print(f"{told.trials} trials put into {lab}.", soft_wrap=True)
    if told.there:
        stdout.print(f"{told.there} were there already.")
    if told.without_predictions:
        stdout.print(
            f"{told.without_predictions} have no predictions per example, so tests over examples leave them out.",
            soft_wrap=True,
        )
    for name in told.superseded:
        stdout.print(f"superseded, not used in place of a new run: {name}", soft_wrap=True)
