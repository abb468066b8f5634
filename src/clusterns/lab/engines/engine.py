"""An engine starts programs; the driver keeps count of them."""

from __future__ import annotations

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
    on: str, folder: str, gpus: int = 0, slurm: dict[str, object] | None = None
) -> Engine:
    """The engine of a name; what it needs is looked for now.

    Args:
        on: local, ray or slurm.
        folder: for files of the engine's own.
        gpus: that a program takes.
        slurm: parameters of a job, as submitit takes them.
    """
    if on == "local":
        from clusterns.lab.engines.local import Local

        return Local()
    raise UserError(f"--on {on}: choose from {', '.join(ENGINES)}.")
