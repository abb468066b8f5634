"""``clusterns lab``: experiments over seeds, anywhere, and what they show."""

from __future__ import annotations

import typer

from clusterns.cli.common import common
from clusterns.cli.lab.draw import figures, table
from clusterns.cli.lab.restore import restore
from clusterns.cli.lab.run import list_experiments, run, trial
from clusterns.cli.lab.search import search

lab = typer.Typer(
    help="Experiments: methods over seeds, their tables and figures.", no_args_is_help=True
)


@lab.callback()
def _group() -> None:
    """Experiments: methods over seeds, their tables and figures."""


lab.command("list")(common(list_experiments))
for command in (run, table, figures, restore, search):
    lab.command()(common(command))
lab.command(hidden=True)(common(trial))
