"""One command of this program, run in a process that an engine started for it alone."""

from __future__ import annotations

import json
import os
import runpy
import sys
import threading
import traceback
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, field
from pathlib import Path

# Two programs of one thread each do more than one of two threads, and a thread's number decides the last
# digits of a sum: with one, the numbers are the same on every engine.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
ERROR = "error: "
# All that goes to another machine. Tokens do not: they come from the worker's own environment.
SENT = (
    "CLUSTERNS_CACHE", "CLUSTERNS_DATA", "HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "HF_ENDPOINT",
    "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT",
)  # fmt: skip


def named_variables() -> dict[str, str]:
    """The variables of the environment that go along to Ray and Slurm: cache, endpoint, offline mode, threads."""
    return {name: os.environ[name] for name in SENT if name in os.environ}


@dataclass(frozen=True)
class Program:
    """What to run, where, and where its words go."""

    arguments: tuple[str, ...]
    """Of the command ``clusterns``."""
    log: str
    """A file that stdout and stderr are added to."""
    folder: str = field(default_factory=os.getcwd)
    """Where it runs."""


def run_program(program: Program, variables: Mapping[str, str] | None = None) -> int:
    """Run it in this process, with ``variables`` added to the environment, and give the exit code."""
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
        except BaseException:  # as Python itself would do
            traceback.print_exc()
            return 1
    return 0


def reason(log: Path) -> str:
    """Why a program failed: the last that it said."""
    try:
        lines = _lines(log)
    except OSError:
        return "it left no log"
    return lines[-1].removeprefix(ERROR) if lines else "it said nothing"


def error_in(log: Path) -> str | None:
    """The error that a program ended with; None where it said none, and may have been killed or still run."""
    lines = _lines(log)
    failed = bool(lines) and (lines[-1].startswith(ERROR) or any(map(_is_traceback, lines)))
    return reason(log) if failed else None


def _lines(log: Path) -> list[str]:
    text = log.read_text("utf-8", "replace")
    return [line.strip() for line in text.splitlines() if line.strip()]


def _is_traceback(line: str) -> bool:
    return line.startswith("Traceback (most recent call last)")


def as_text(program: Program) -> str:
    """For the command line of :func:`main`."""
    return json.dumps(asdict(program))


def main() -> None:
    """Run the program on the command line; end when whoever holds the other end of stdin does."""
    values = json.loads(sys.argv[1])
    program = Program(**{**values, "arguments": tuple(values["arguments"])})
    threading.Thread(target=_end_with_the_driver, daemon=True).start()
    sys.exit(run_program(program))


def _end_with_the_driver() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
