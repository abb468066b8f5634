"""``clusterns quickstart``: something real in minutes, with nothing to download."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer


def quickstart(
    output: Annotated[Path, typer.Option(help="Run folder to write.")] = Path("runs/quickstart"),
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Override a setting of the recipe cpu-small.",
            show_default=False,
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Replace an earlier quickstart in the same folder.")
    ] = False,
) -> None:
    """Train on the docstrings of the installed Python packages, prove the gain, and search them.

    The base is the small BERT inside this package. Takes a few minutes on two cores.
    """
    from clusterns.cli.quiet import quiet_libraries
    from clusterns.quickstart import quickstart as run
    from clusterns.training import RunFolder, parse_changes

    quiet_libraries()
    changes = parse_changes(set_ or [])
    if again and RunFolder(output).is_run:
        shutil.rmtree(output)
    RunFolder(output).check(resume=False)
    run(output, changes)
