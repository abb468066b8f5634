"""The command line: one file a command."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated, Any

import typer

from clusterns.cli.common import common
from clusterns.cli.compare import compare
from clusterns.cli.evaluate import evaluate
from clusterns.commands import data, lab
from clusterns.commands.adapt import AdaptCommand
from clusterns.commands.encode import EncodeCommand
from clusterns.commands.explore import ExploreRequest
from clusterns.commands.inspect import InspectCommand
from clusterns.commands.methods import MethodsRequest
from clusterns.commands.push import PushRequest
from clusterns.commands.quickstart import QuickstartRequest
from clusterns.commands.recipes import RecipesCommand
from clusterns.commands.report import ReportRequest
from clusterns.commands.request import Request, add_command
from clusterns.commands.search import SearchCommand
from clusterns.commands.similar import SimilarCommand
from clusterns.commands.topics import TopicsCommand
from clusterns.commands.train import TrainCommand
from clusterns.console import is_verbose, log_error, quiet_libraries, silenced
from clusterns.errors import UserError
from clusterns.record import set_command

PROGRAM = "clusterns"
app = typer.Typer(
    help="Train sentence embeddings from plain text, without labels.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# In the order of the help. A function is not converted to a request yet.
COMMANDS: dict[str, Any] = {
    "quickstart": QuickstartRequest,
    "train": TrainCommand,
    "adapt": AdaptCommand,
    "methods": MethodsRequest,
    "recipes": RecipesCommand,
    "evaluate": evaluate,
    "compare": compare,
    "encode": EncodeCommand,
    "search": SearchCommand,
    "similar": SimilarCommand,
    "topics": TopicsCommand,
    "explore": ExploreRequest,
    "report": ReportRequest,
    "inspect": InspectCommand,
    "push": PushRequest,
}
for name, command in COMMANDS.items():
    if isinstance(command, type) and issubclass(command, Request):
        add_command(app, name, command)
    else:
        app.command(name)(common(command))


@app.command(hidden=True)
def request(name: str, json: str) -> None:
    """Execute the request of a command, as a worker receives it."""
    quiet_libraries()
    asked = COMMANDS[name].model_validate_json(json)
    with silenced(asked.quiet):
        asked.execute()


app.add_typer(data.app, name="data")
app.add_typer(lab.app, name="lab")


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
