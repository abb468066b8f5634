"""Options that people expect to find at every command."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import transformers

from clusterns.cli import COMMANDS, main
from clusterns.console import is_verbose, quiet_libraries, set_verbose
from tests.helpers.commands import click_command

SINGLE = [name for name in COMMANDS if name not in ("data", "lab")]
ENCODING = ["encode", "evaluate", "explore", "search", "similar", "topics"]


def options(command: str) -> set[str]:
    return {option for each in click_command(command).params for option in each.opts}


@pytest.mark.parametrize("command", ENCODING)
def test_what_encodes_can_be_told_where_and_how(command: str) -> None:
    wanted = {
        "--device",
        "--dtype",
        "--prompt-name",
        "--truncate-dim",
        "--pooling",
        "--max-length",
        "--revision",
    }
    assert wanted <= options(command)


@pytest.mark.parametrize("command", [*ENCODING, "inspect"])
def test_the_model_comes_first(command: str) -> None:
    arguments = [each for each in click_command(command).params if not each.opts[0].startswith("-")]
    assert arguments[0].name == "model"


@pytest.mark.parametrize("command", ["search", "inspect", "evaluate", "compare"])
def test_answers_for_programs(command: str) -> None:
    assert "--json" in options(command)


@pytest.mark.parametrize("command", SINGLE)
def test_every_command_can_be_quiet_and_verbose(command: str) -> None:
    assert {"--quiet", "--verbose"} <= options(command)


def test_every_command_of_the_lab_can_be_quiet_and_verbose() -> None:
    commands = click_command("lab").commands
    assert {"run", "table", "figures", "list", "search"} <= set(commands)
    for name, command in commands.items():
        found = {option for parameter in command.params for option in parameter.opts}
        assert {"--quiet", "--verbose"} <= found, name


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr("sys.argv", ["clusterns", *arguments])
    with pytest.raises(SystemExit):
        main()


def test_verbose_tells_where_an_error_comes_from(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = ["encode", "minibert", str(tmp_path / "none.txt"), "--output", "out"]
    call(monkeypatch, *arguments)
    assert "Traceback" not in capsys.readouterr().err
    call(monkeypatch, *arguments, "--verbose")
    assert "Traceback" in capsys.readouterr().err
    call(monkeypatch, *arguments)  # nothing of it stays
    assert "Traceback" not in capsys.readouterr().err


def test_verbose_leaves_the_libraries_their_voice() -> None:
    before = transformers.logging.get_verbosity()
    try:
        transformers.logging.set_verbosity_warning()
        set_verbose(True)
        assert is_verbose()
        quiet_libraries()
        assert transformers.logging.get_verbosity() == logging.WARNING
        set_verbose(False)
        quiet_libraries()
        assert transformers.logging.get_verbosity() == logging.ERROR
    finally:
        set_verbose(False)
        transformers.logging.set_verbosity(before)
