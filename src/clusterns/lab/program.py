"""One command of this program, run in its own process."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import threading
import traceback
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

# Two programs of one thread each are faster than one with two threads, and the number of threads affects the last
# digits of a sum: with one, the numbers are the same everywhere.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
# The variables that are sent to other machines. Tokens are not: they come from the worker's own environment.
SENT = (
    "CLUSTERNS_CACHE", "CLUSTERNS_DATA", "HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "HF_ENDPOINT",
    "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT",
)  # fmt: skip
ERROR = "error: "
TRACEBACK = "Traceback (most recent call last)"


def named_variables() -> dict[str, str]:
    """The environment variables that are sent to Ray and Slurm: cache, endpoint, offline mode, threads."""
    return {name: os.environ[name] for name in SENT if name in os.environ}


@dataclass(frozen=True)
class Program:
    """A command to run, and the destination of its output."""

    arguments: tuple[str, ...]
    """Arguments of ``clusterns``."""
    log: str
    """File that stdout and stderr are appended to."""
    folder: str = field(default_factory=os.getcwd)
    """Working directory."""


def run_program(program: Program, variables: Mapping[str, str] | None = None) -> int:
    """Run it in this process, with ``variables`` added to the environment, and return its exit code."""
    os.environ.update({**(variables or {}), **ONE_THREAD})
    os.chdir(program.folder)
    sys.argv = ["clusterns", *program.arguments]
    Path(program.log).parent.mkdir(parents=True, exist_ok=True)
    with (
        Path(program.log).open("a", encoding="utf-8", buffering=1) as log,
        redirect_stdout(log),
        redirect_stderr(log),
    ):
        try:
            runpy.run_module("clusterns", run_name="__main__")
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:  # as Python itself does
            traceback.print_exc()
            return 1
    return 0


def reason(log: Path) -> str:
    """The reason why a program failed: the last line of its output."""
    try:
        lines = _lines(log)
    except OSError:
        return "it left no log"
    return lines[-1].removeprefix(ERROR) if lines else "it printed nothing"


def error_in(log: Path) -> str | None:
    """The error that a program ended with; None if it printed none (it may be running, or was killed)."""
    lines = _lines(log)
    failed = bool(lines) and (
        lines[-1].startswith(ERROR) or any(line.startswith(TRACEBACK) for line in lines)
    )
    return reason(log) if failed else None


def _lines(log: Path) -> list[str]:
    text = log.read_text("utf-8", "replace")
    return [line.strip() for line in text.splitlines() if line.strip()]


def run_forked(program: Program) -> None:
    """Run it in a new process of :mod:`multiprocessing`, which ends with its parent."""
    # The launcher handles Ctrl-C: it asks the programs to stop.
    if hasattr(os, "setsid"):
        os.setsid()
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    sys.exit(run_program(program))


def _end_with_the_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
