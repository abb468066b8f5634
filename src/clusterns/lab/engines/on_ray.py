"""Ray: a worker for each program, on a cluster (``RAY_ADDRESS``) or on this machine."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from clusterns.console import log
from clusterns.lab.engines.engine import LOST
from clusterns.lab.engines.program import (
    ONE_THREAD,
    Program,
    named_variables,
    run_program,
)

PATIENCE = 60.0  # seconds for programs to save themselves


class RayProgram:
    """A task of Ray's."""

    def __init__(self, reference: Any) -> None:
        self.reference = reference

    def exit_code(self) -> int | None:
        """None while it runs or waits; below 0 where its worker was lost."""
        import ray

        done, _ = ray.wait([self.reference], timeout=0)
        if not done:
            return None
        try:
            return int(ray.get(self.reference))
        except ray.exceptions.RayError:  # a program catches its own errors: the worker is gone
            return LOST

    def stop(self) -> None:
        """Ask it to save what it has, and to end."""
        import ray

        with suppress(ray.exceptions.RayError):
            ray.cancel(self.reference)


class OnRay:
    """Workers of Ray, each with a processor and, if asked for, GPUs of its own.

    Ray itself retries nothing: the driver does, so that it is the same everywhere.
    """

    def __init__(self, gpus: int = 0) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        there = int(ray.cluster_resources().get("GPU", 0))
        if there < gpus:  # no error: a cluster may grow when it is asked
            log(f"--gpus {gpus}: Ray has {there} now, and what asks for more waits.")
        # One process a program: what one leaves behind in memory must not reach the next.
        self._run = ray.remote(
            max_calls=1, max_retries=0, num_cpus=1, num_gpus=gpus,
            runtime_env={"env_vars": dict(ONE_THREAD)},
        )(run_program)  # fmt: skip
        self._started: list[RayProgram] = []

    def start(self, program: Program) -> RayProgram:
        """Line it up for a worker."""
        self._started = [each for each in self._started if each.exit_code() is None]
        started = RayProgram(self._run.remote(program, named_variables()))
        self._started.append(started)
        return started

    def close(self) -> None:
        """Ask all programs to end, wait for them, and leave the cluster unless it was joined before."""
        import ray

        running = [each for each in self._started if each.exit_code() is None]
        for each in running:
            each.stop()
        if running:
            ray.wait(
                [each.reference for each in running], num_returns=len(running), timeout=PATIENCE
            )
        if self._is_ours:
            ray.shutdown()
