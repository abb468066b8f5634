"""An engine starts programs; the driver keeps count of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from clusterns.errors import UserError
from clusterns.lab.engines.program import Program

LOST = -1  # an exit code: the program ended without one
ENGINES = ("local", "ray", "slurm")


class Started(Protocol):
    """A program that was started."""

    def exit_code(self) -> int | None:
        """None while it runs; below 0 where it was killed or its machine was lost."""

    def stop(self) -> None:
        """Ask it to save what it has, and to end."""


class Engine(Protocol):
    """Where programs run."""

    def start(self, program: Program) -> Started:
        """Start a program in a process of its own, or line it up."""

    def close(self) -> None:
        """Give back what was taken; programs that still run are ended."""


def make_engine(
    on: str, folder: Path, gpus: int = 0, slurm: Mapping[str, object] | None = None
) -> Engine:
    """The engine of a name; what it needs is looked for now.

    Args:
        on: local, ray or slurm.
        folder: for files of the engine's own.
        gpus: that a program takes (ray, slurm).
        slurm: parameters of a job, as submitit takes them.
    """
    if on == "local":
        from clusterns.lab.engines.local import Local

        return Local()
    if on == "ray":
        _check_installed("ray", "Ray", "ray")
        from clusterns.lab.engines.on_ray import OnRay

        return OnRay(gpus)
    if on == "slurm":
        _check_installed("submitit", "submitit", "slurm")
        from clusterns.lab.engines.on_slurm import OnSlurm

        return OnSlurm(str(folder), gpus, slurm)
    raise UserError(f"--on {on}: choose from {', '.join(ENGINES)}.")


def _check_installed(package: str, name: str, extra: str) -> None:
    if find_spec(package) is None:
        raise UserError(f"--on {extra} needs {name}: pip install 'clusterns[{extra}]'.")
