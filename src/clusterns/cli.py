"""The command line. Commands are imported lazily, so that none waits for the imports of the others."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from clusterns.commands.request import Request, add_command
from clusterns.console import is_verbose, log_error, quiet_libraries, silenced
from clusterns.errors import UserError
from clusterns.record import set_command

PROGRAM = "clusterns"
# In help order. Each is a module of `clusterns.commands`. A module with an `app` is a group; in the others, the command
# `search` is the class `SearchCommand` if it exists, else `SearchRequest`.
COMMANDS = (
    "quickstart", "train", "adapt", "methods", "recipes", "evaluate", "compare", "encode", "lance", "search",
    "similar", "topics", "explore", "report", "inspect", "push", "data", "lab",
)  # fmt: skip


def request_of(name: str) -> type[Request]:
    """The request class of a command."""
    module = import_module(f"clusterns.commands.{name}")
    kind: type[Request] = getattr(module, f"{name.title()}Command", None) or getattr(
        module, f"{name.title()}Request"
    )
    return kind


class Commands(TyperGroup):
    """All commands by name, imported on first use."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: dict[str, Any] = {**dict.fromkeys(COMMANDS), **self.commands}

    def list_commands(self, ctx: Any) -> list[str]:
        """The names that help shows."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command."""
        if cmd_name in COMMANDS and self.commands[cmd_name] is None:
            group = getattr(import_module(f"clusterns.commands.{cmd_name}"), "app", None)
            if group is None:
                group = typer.Typer(add_completion=False)
                add_command(group, cmd_name, request_of(cmd_name))
            self.commands[cmd_name] = get_command(group)
        return self.commands.get(cmd_name)


app = typer.Typer(
    cls=Commands,
    help="Train sentence embeddings from plain text, without labels.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(hidden=True)
def request(name: str, json: str) -> None:
    """Execute a request received by a worker."""
    quiet_libraries()
    received = request_of(name).model_validate_json(json)
    with silenced(received.quiet):
        received.execute()


def _version(value: bool) -> None:
    if value:
        from clusterns.record import installed_version

        typer.echo(f"{PROGRAM} {installed_version(PROGRAM) or 'from a source tree'}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Train sentence embeddings from plain text, without labels."""


def main() -> None:
    """Run the program; a user error prints one sentence and exits with code 2."""
    set_command([PROGRAM, *sys.argv[1:]])
    try:
        app(prog_name=PROGRAM)
    except UserError as error:
        if is_verbose():
            traceback.print_exc()
        log_error(str(error))
        sys.exit(2)
