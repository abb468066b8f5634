"""The command line: one file a command."""

from __future__ import annotations

import sys

import typer

from clusterns.cli.recipes import recipes
from clusterns.cli.train import train
from clusterns.console import status
from clusterns.errors import UserError

app = typer.Typer(
    help="Train sentence embeddings from plain text, without labels.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(train)
app.command()(recipes)


def main() -> None:
    """Run the program: a user's error is one sentence and exit code 2."""
    try:
        app()
    except UserError as error:
        status.print(f"[bold red]error:[/] {error}", soft_wrap=True, markup=True)
        sys.exit(2)
