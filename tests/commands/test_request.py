"""One definition: the command line and the function take the same options, with the same defaults."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import transformers
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
from clusterns.console import is_verbose, quiet_libraries, set_verbose
from clusterns.errors import Interrupted, UserError
from clusterns.methods.registry import method_names, part_names
from tests.helpers.commands import click_command, run_cli

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

    def resume_hint(self) -> str:
        return "Draw again."

    def show(self, result: list[str]) -> None:
        if result == ["stop"]:
            raise Interrupted("Stopped at line 2")
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
    expected = DrawCommand(**{**DEFAULTS, **changed})
    assert shown.strip() == expected.model_dump_json(exclude={"quiet"})
    assert DrawCommand.model_validate_json(shown).run() == changed.get("corpus", ["a"])


def test_what_a_field_does_not_allow_is_refused_by_its_name() -> None:
    for option, value, says in (
        ("--count", "0", "--count"), ("--limit", "2", "--limit"), ("--style", "thin", "thin"),
    ):  # fmt: skip
        done = call("a", option, value)
        assert (done.exit_code, says in done.output) == (2, True)
    assert isinstance(call("a", "--set", "rate").exception, UserError)
    with pytest.raises(UserError, match="--set rate: write KEY=VALUE"):
        draw("a", settings=["rate"])  # type: ignore[arg-type]
    with pytest.raises(UserError, match="draw: count = 0: input should be greater"):
        draw("a", count=0)
    with pytest.raises(TypeError, match="'counts'"):
        draw("a", counts=2)  # type: ignore[call-arg]


def test_an_interrupted_command_says_how_to_go_on() -> None:
    done = call("stop")
    assert done.exit_code == 130
    assert done.stderr == "Stopped at line 2. Draw again.\n"


def test_the_function_has_a_signature_and_a_docstring() -> None:
    assert list(inspect.signature(draw).parameters)[:2] == ["corpus", "style"]
    assert draw(["a", "b"]) == ["a", "b"]
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


def test_verbose_shows_tracebacks_and_what_the_libraries_log(tmp_path: Path) -> None:
    arguments = ["encode", "minibert", tmp_path / "none.txt", "--output", "out"]
    before = transformers.logging.get_verbosity()
    try:
        for more, shown in (([], False), (["--verbose"], True), ([], False)):  # nothing of it stays
            assert ("Traceback" in run_cli(*arguments, *more).err) is shown
        for verbose, level in ((True, logging.WARNING), (False, logging.ERROR)):
            transformers.logging.set_verbosity_warning()
            set_verbose(verbose)
            assert is_verbose() is verbose
            quiet_libraries()
            assert transformers.logging.get_verbosity() == level
    finally:
        set_verbose(False)
        transformers.logging.set_verbosity(before)


def test_methods_parts_and_settings_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterns.console.stdout.width", 1000)
    names = [*method_names(), *part_names()]
    assert {*names} <= {*run_cli("methods").out.split()}
    pages = {name: " ".join(run_cli("methods", name).out.split()) for name in names}
    assert all(len(page.split()) > 8 for page in pages.values())
    for said in (
        "soft_weight", "This sentence of", "sncse-bert-base",
        "clusterns train corpus.txt --method sncse --output runs/sncse",
    ):  # fmt: skip
        assert said in pages["sncse"]
    assert "average embedding-last-avg" in pages["average"]
    assert "average first-last-avg" in pages["whitening"]
    keys = " ".join(run_cli("recipes", "--keys").out.split())
    assert "average first-last-avg, embedding-last-avg (average)" in keys
    assert "positives dropout, repetition (esimcse)" in keys
