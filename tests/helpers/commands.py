"""The command line, run in three ways: in this process, refused cheaply, and in a process of its own."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from typer.main import get_command

from clusterns.cli import app, main

HEAVY = {
    "torch", "transformers", "datasets", "sklearn", "scipy", "pandas", "sentence_transformers",
}  # fmt: skip
# What the server below imports once: all that training, encoding and evaluating need.
PRELOAD = [
    "sentence_transformers", "datasets", "sklearn.cluster", "scipy.stats",
    "clusterns.training.run", "clusterns.cli",
]  # fmt: skip


def click_command(*names: str) -> Any:
    """A command or group as typer makes it."""
    command: Any = get_command(app)
    for name in names:
        command = command.get_command(None, name)
    return command


class Ran(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


def run_cli(*arguments: object) -> Ran:
    """Run the program in this process."""
    out, err = io.StringIO(), io.StringIO()
    argv = ["clusterns", *map(str, arguments)]
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        patch("sys.argv", argv),
        patch("clusterns.record._command", None),  # the next test is not run by this command
    ):
        code = _exit_code(main)
    return Ran(code, out.getvalue(), err.getvalue())


def _exit_code(function: Callable[[], object]) -> int:
    try:
        function()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


class Refusal(NamedTuple):
    """How a command ended that was to load nothing heavy, and what it loaded in spite of that."""

    code: int
    out: str
    err: str
    heavy: set[str]


class LightPrograms:
    """An interpreter that imports the command line once and forks for each command.

    It sees the mistakes of a user in a fraction of the time of a new process, and no test can
    find a module that another one has imported.
    """

    def __init__(self) -> None:
        self.server = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.light_server"],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "COLUMNS": "200"},
        )  # fmt: skip

    def run(self, *arguments: object, cwd: Path, **environment: str) -> Refusal:
        """Run the program in ``cwd``."""
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        order = {"arguments": [*map(str, arguments)], "cwd": str(cwd), "environment": environment}
        self.server.stdin.write(json.dumps(order) + "\n")
        self.server.stdin.flush()
        found = json.loads(self.server.stdout.readline())
        return Refusal(found["code"], found["out"], found["err"], HEAVY & {*found["modules"]})

    def close(self) -> None:
        self.server.communicate()


class Program:
    """A process with everything imported: a server forks it, which costs 11 seconds once.

    Use it as ``subprocess.Popen``: ``poll``, ``wait``, ``send_signal``, ``kill``, ``returncode``.
    Its output goes to files. ``daemon=False`` if it starts processes of its own.
    """

    def __init__(
        self,
        function: Callable[..., object],
        *arguments: Any,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        out: Path | None = None,
        err: Path | None = None,
        daemon: bool = True,
    ) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOAD)
        places = [str(each or os.devnull) for each in (out, err)]
        self.process = context.Process(
            target=_begin,
            args=(
                function,
                arguments,
                str(cwd or Path.cwd()),
                {**os.environ, **(env or {})},
                places,
            ),
            daemon=daemon,
        )
        self.process.start()

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    @property
    def returncode(self) -> int | None:
        return self.process.exitcode

    def poll(self) -> int | None:
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.process.kill()

    def wait(self, timeout: float | None = None) -> int:
        self.process.join(timeout)
        assert self.process.exitcode is not None, "the process still runs"
        return self.process.exitcode


def start_cli(*arguments: object, **options: Any) -> Program:
    """Start the program in a process of its own; ``options`` are those of :class:`Program`."""
    return Program(_command, [*map(str, arguments)], **options)


def run_apart(
    function: Callable[..., object], *arguments: Any, folder: Path, **options: Any
) -> Ran:
    """Run a function of a module in a process of its own; its output passes through ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    out, err = folder / f"out-{time.monotonic_ns()}", folder / f"err-{time.monotonic_ns()}"
    code = Program(function, *arguments, out=out, err=err, **options).wait()
    ran = Ran(code, out.read_text("utf-8"), err.read_text("utf-8"))
    out.unlink()
    err.unlink()
    return ran


def run_cli_apart(*arguments: object, folder: Path, **options: Any) -> Ran:
    """Run the program in a process of its own."""
    return run_apart(_command, [*map(str, arguments)], folder=folder, **options)


def _command(arguments: list[str]) -> None:
    sys.argv = ["clusterns", *arguments]
    main()


def _begin(
    function: Callable[..., object],
    arguments: tuple[Any, ...],
    cwd: str,
    environment: dict[str, str],
    places: list[str],
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    become(places)
    import torch

    torch.set_num_threads(int(environment.get("OMP_NUM_THREADS", "1")))
    try:
        code = _exit_code(lambda: function(*arguments))
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)


def become(places: list[str]) -> None:
    """Send this process's stdout and stderr to files."""
    for number, place in enumerate(places, start=1):
        file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
