"""The command line: one file a command."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated

import typer

from clusterns.cli.adapt import adapt
from clusterns.cli.common import common
from clusterns.cli.compare import compare
from clusterns.cli.data import data
from clusterns.cli.encode import encode
from clusterns.cli.evaluate import evaluate
from clusterns.cli.explore import explore
from clusterns.cli.inspect import inspect
from clusterns.cli.lab import lab
from clusterns.cli.methods import methods
from clusterns.cli.quickstart import quickstart
from clusterns.cli.recipes import recipes
from clusterns.cli.report import report
from clusterns.cli.search import search
from clusterns.cli.similar import similar
from clusterns.cli.topics import topics
from clusterns.cli.train import train
from clusterns.console import is_verbose, log_error
from clusterns.errors import UserError
from clusterns.record import set_command

PROGRAM = "clusterns"
app = typer.Typer(
    help="Train sentence embeddings from plain text, without labels.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    quickstart, train, adapt, methods, recipes, evaluate, compare, encode, search, similar, topics,
    explore, report, inspect,
)  # fmt: skip
for command in COMMANDS:
    app.command()(common(command))
app.add_typer(data, name="data")
app.add_typer(lab, name="lab")


def _version(asked: bool) -> None:
    if asked:
        from clusterns.record import installed_version

        typer.echo(f"{PROGRAM} {installed_version(PROGRAM) or 'from a source tree'}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Train sentence embeddings from plain text, without labels."""


def main() -> None:
    """Run the program: a user's error is one sentence and exit code 2."""
    set_command([PROGRAM, *sys.argv[1:]])
    try:
        app(prog_name=PROGRAM)
    except UserError as error:
        if is_verbose():
            traceback.print_exc()
        log_error(str(error))
        sys.exit(2)
