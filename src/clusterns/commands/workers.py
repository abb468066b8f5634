"""Workers as local processes, Ray tasks or Slurm jobs. Each receives a request as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge
from pydantic import BeforeValidator

from clusterns.commands.options import parse_pairs
from clusterns.commands.request import Cli, Request

if TYPE_CHECKING:
    from clusterns.lab.launch import Launcher
    from clusterns.lab.program import Program


def _slurm_value(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


class WorkerOptions(Request):
    """The number of workers and their resources."""

    workers: Annotated[int, Ge(1)] = 2
    """Number of workers, one thread each."""
    gpus: Annotated[int, Ge(0)] = 0
    """GPUs per worker (Ray and Slurm)."""
    slurm: Annotated[
        Mapping[str, Any],
        BeforeValidator(parse_pairs("--slurm", _slurm_value)),
        Cli(list[str], metavar="KEY=VALUE"),
    ] = {}
    """Parameter of each Slurm job, as submitit takes it: slurm_partition=gpu, timeout_min=120. May be repeated."""

    @contextmanager
    def launcher(self, on: str, folder: Path) -> Iterator[Launcher]:
        """Create the launcher called ``on`` and close it at the end; ``folder`` is for submitit's files."""
        from clusterns.lab.launchers import make_launcher

        launcher = make_launcher(on, folder, self.gpus, self.slurm)
        try:
            yield launcher
        finally:
            launcher.close()


def program(name: str, request: Request, log: Path) -> Program:
    """A program that executes the request of the command ``name`` and logs to a file."""
    from clusterns.lab.program import Program

    return Program(("request", name, request.model_dump_json()), str(log))
