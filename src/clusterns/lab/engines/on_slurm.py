"""Slurm: a job for each program, by submitit."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from typing import Any

from clusterns.errors import UserError
from clusterns.lab.engines.driver import STOPPED
from clusterns.lab.engines.engine import LOST
from clusterns.lab.engines.program import Program, named_variables, run_program

# What a job asks for where the user says nothing else.
DEFAULTS = {"timeout_min": 24 * 60, "cpus_per_task": 1, "name": "clusterns"}


def run_job(program: Program, variables: Mapping[str, str]) -> int:
    """Run a program inside a job.

    Slurm warns of the end of a job's time, and of being set aside, by SIGUSR2. Submitit would raise an error
    in the middle of the program, or line the job up again beside the one that the driver hands out. Here it is
    asked to stop, as by anyone else: training saves itself, and the driver hands it out again.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(STOPPED[-1]))
    signal.signal(signal.SIGUSR2, lambda *_: signal.raise_signal(signal.SIGTERM))
    return run_program(program, variables)


class SlurmProgram:
    """A job of submitit's."""

    def __init__(self, job: Any) -> None:
        self.job = job

    def exit_code(self) -> int | None:
        """None while it runs or waits; below 0 where it was killed or ran out of its time."""
        if not self.job.done():
            return None
        if self.job.exception() is not None:  # a program catches its own errors: the job is gone
            return LOST
        return int(self.job.result())

    def stop(self) -> None:
        """Take it back."""
        self.job.cancel(check=False)


class OnSlurm:
    """Jobs of Slurm. ``cluster`` is one of submitit's: ``local`` runs them on this machine.

    Args:
        folder: for the files of submitit; every node must see it.
        gpus: that a job takes.
        parameters: of a job, as submitit takes them: ``slurm_partition``, ``timeout_min``, ...
        cluster: which of submitit's executors.
    """

    def __init__(
        self,
        folder: str,
        gpus: int = 0,
        parameters: Mapping[str, object] | None = None,
        cluster: str = "slurm",
    ) -> None:
        import submitit

        try:
            self._executor = submitit.AutoExecutor(folder=folder, cluster=cluster)
            self._executor.update_parameters(
                **{**DEFAULTS, "gpus_per_node": gpus, **(parameters or {})}
            )
        except (RuntimeError, NameError, TypeError, ValueError) as error:
            raise UserError(f"--on slurm: {' '.join(str(error).split())}") from error
        self._started: list[SlurmProgram] = []

    def start(self, program: Program) -> SlurmProgram:
        """Submit a job."""
        self._started = [each for each in self._started if each.exit_code() is None]
        started = SlurmProgram(self._executor.submit(run_job, program, named_variables()))
        self._started.append(started)
        return started

    def close(self) -> None:
        """Take back all jobs that have not ended."""
        for each in self._started:
            if each.exit_code() is None:
                each.stop()
