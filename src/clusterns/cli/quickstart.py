"""``clusterns quickstart``: something real in minutes, with nothing to download."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from clusterns.cli.options import NoReport, Quiet
from clusterns.console import log, silenced
from clusterns.errors import UserError


def quickstart(
    output: Annotated[Path, typer.Option(help="Run folder to write.")] = Path("runs/quickstart"),
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Override a setting: the recipe is cpu-small, with positives=document.",
            show_default=False,
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Replace an earlier quickstart in the same folder.")
    ] = False,
    no_report: NoReport = False,
    quiet: Quiet = False,
) -> None:
    """Train on the docstrings of the installed Python packages, prove the gain, and search them.

    The base is the small BERT inside this package. Takes a few minutes on two cores.
    """
    from clusterns.quickstart.earlier import RECIPE, check_folder, remove_earlier
    from clusterns.training.folder import RunFolder
    from clusterns.training.recipe import load_recipe, parse_changes

    changes = parse_changes(set_ or [])
    for key in sorted({"method", "template", "dev"} & changes.keys()):
        raise UserError(f"--set {key}: the quickstart compares ClusterNS with SimCSE as they are.")
    load_recipe(RECIPE, changes)
    check_folder(output, again)

    # From here on it takes its time.
    from clusterns.cli.quiet import quiet_libraries
    from clusterns.quickstart.run import quickstart as run
    from clusterns.training.run import Interrupted

    quiet_libraries()
    if RunFolder(output).is_run:
        remove_earlier(output)
    try:
        with silenced(quiet):
            run(output, changes, quiet=quiet, report=not no_report)
    except Interrupted:
        log("Stopped. Start over with: clusterns quickstart --again")
        sys.exit(130)
