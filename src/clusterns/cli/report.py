"""``clusterns report``: one page about a run, or about several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clusterns.errors import UserError


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs.")],
    output: Annotated[
        Path | None,
        typer.Option(
            help="The html file to write. Without it: report.html in the run folder; needed for "
            "several runs.",
            show_default=False,
        ),
    ] = None,
    no_models: Annotated[
        bool,
        typer.Option("--no-models", help="Only what the run folders tell; no model is loaded."),
    ] = False,
) -> None:
    """Write one html page about a run: scores, curves, neighbours before and after, settings.

    The page holds all that it shows, opens from disk and prints.

    clusterns report runs/mine

    clusterns report runs/one runs/other --output both.html
    """
    for run in runs:
        if not (run / "run.json").is_file():
            raise UserError(f"{run} holds no run: name a run folder.")
    if output is None and len(runs) > 1:
        raise UserError("several runs: name the file to write with --output.")
    if output is not None and output.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"--output {output}: a report is an .html file.")

    from clusterns.cli.quiet import quiet_libraries
    from clusterns.console import stdout
    from clusterns.reports.page import make_report

    quiet_libraries()
    path = make_report(runs, output, models=not no_models)
    stdout.print(f"The report: {path.resolve().as_uri()}", soft_wrap=True)
