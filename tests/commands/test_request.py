"""One definition: the command line and the function take the same options, with the same defaults."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from annotated_types import Ge
from pydantic import Field
from typer.testing import CliRunner

import clusterns
from clusterns import cli
from clusterns.commands import lab
from clusterns.commands.data import FetchRequest
from clusterns.commands.options import Changes, OptionalPath, Texts, as_list
from clusterns.commands.request import Cli, Request, add_command, command_name, function
from clusterns.errors import UserError
from tests.helpers.commands import click_command

REFERENCE = Path(__file__).parents[2] / "docs" / "python.md"
REQUESTS = {
    **{name: cli.request_of(name) for name in cli.COMMANDS if name not in ("data", "lab")},
    **{f"lab {name}": kind for name, kind in lab.COMMANDS.items()},
    "data fetch": FetchRequest,
}


class DrawRequest(Request):
    """Draw the texts."""

    corpus: Texts = Field(kw_only=False)
    """What to draw."""
    style: Literal["plain", "bold"] = "plain"
    """Style of the lines."""
    count: Annotated[int, Ge(1)] = 3
    """Number of lines."""
    limit: Annotated[int | None, Ge(3)] = None
    """At most this many."""
    tags: Annotated[Sequence[str], Cli(list[str], ("--tag",))] = ()
    """Tags. May be repeated."""
    text: bool = True
    """Whether to write text."""
    to: OptionalPath = None
    """File to write."""
    settings: Changes = {}
    """Settings."""

    def run(self) -> list[str]:
        return as_list(self.corpus)


class DrawCommand(DrawRequest):
    dry_run: bool = False
    """Draw nothing."""

    def show(self, result: list[str]) -> None:
        typer.echo(self.model_dump_json(exclude={"quiet"}))


draw = function(DrawRequest)


def call(*arguments: str) -> Any:
    app = typer.Typer()
    add_command(app, "draw", DrawCommand)
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "160"})


DEFAULTS = {
    "corpus": ["a"], "style": "plain", "count": 3, "limit": None, "tags": (), "text": True, "to": None,
    "settings": {}, "dry_run": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        ([], {}),
        (["b", "--style", "bold", "--count", "1"], {"corpus": ["a", "b"], "style": "bold", "count": 1}),
        (["--tag", "x", "--tag", "y", "--no-text"], {"tags": ["x", "y"], "text": False}),
        (["--to", "f", "--limit", "3", "--dry-run"], {"to": "f", "limit": 3, "dry_run": True}),
        (["--set", "rate=1e-3", "--set", "k=[a, 2]"], {"settings": {"rate": 0.001, "k": ["a", 2]}}),
    ],
)  # fmt: skip
def test_the_command_line_gives_what_the_function_takes(
    arguments: list[str], changed: dict[str, Any]
) -> None:
    shown = call("a", *arguments).output
    assert shown.strip() == DrawCommand(**{**DEFAULTS, **changed}).model_dump_json(
        exclude={"quiet"}
    )
    assert DrawCommand.model_validate_json(shown).run() == changed.get("corpus", ["a"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--count", "0"], "--count"),
        (["--limit", "2"], "--limit"),
        (["--style", "thin"], "thin"),
    ],
)
def test_the_command_line_refuses_what_a_field_does_not_allow(
    arguments: list[str], says: str
) -> None:
    done = call("a", *arguments)
    assert done.exit_code == 2
    assert says in done.output


def test_pairs_are_read_or_refused_by_the_name_of_their_option() -> None:
    assert isinstance(call("a", "--set", "rate").exception, UserError)
    with pytest.raises(UserError, match="--set rate: write KEY=VALUE"):
        draw("a", settings=["rate"])  # type: ignore[arg-type]


def test_the_function_has_signature_checks_and_a_docstring() -> None:
    assert list(inspect.signature(draw).parameters)[:2] == ["corpus", "style"]
    assert draw(["a", "b"]) == ["a", "b"]
    with pytest.raises(UserError, match="draw: count = 0: input should be greater"):
        draw("a", count=0)
    with pytest.raises(TypeError, match="'counts'"):
        draw("a", counts=2)  # type: ignore[call-arg]
    assert (draw.__doc__ or "").startswith("Draw the texts.\n\nArgs:\n    corpus: What to draw.\n")
    assert draw.__name__ == "draw"


@pytest.mark.parametrize("name", REQUESTS)
def test_every_command_and_its_function_have_the_same_options_and_defaults(name: str) -> None:
    command = REQUESTS[name]
    kind = next(each for each in command.__mro__ if "run" in vars(each))
    called = getattr(import_module(kind.__module__), command_name(kind))
    assert f"::: {kind.__module__}.{called.__name__}\n" in REFERENCE.read_text("utf-8")
    # Those have the name of a room, or are imported from their command.
    assert called.__name__ in {*clusterns.__all__, "fetch", "methods", "quickstart"}
    parameters = inspect.signature(called).parameters
    assert set(parameters) == set(kind.model_fields)
    options = {each.name: each for each in click_command(*name.split()).params}
    assert set(options) - {"help"} == {*command.model_fields, "verbose"}
    for key, parameter in parameters.items():
        option, field = options[key], kind.model_fields[key]
        assert option.required == (parameter.default is parameter.empty), key
        if not option.required:
            assert (option.default or None) == (parameter.default or None), key
        assert field.description, key
        assert " ".join(field.description.split()) in " ".join((called.__doc__ or "").split())
        assert option.help == field.description
