"""The three launchers: processes of this machine, Ray, and Slurm."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

from clusterns.console import log
from clusterns.errors import UserError
from clusterns.lab.launch import LOST, STOPPED, Launcher
from clusterns.lab.program import (
    ONE_THREAD,
    Program,
    named_variables,
    run_forked,
    run_program,
)

SAVE_TIMEOUT = 60.0  # seconds for programs to save themselves
INTERVAL = 0.5  # seconds between checks of a Slurm job
# What programs import; the fork server imports it once.
LIBRARIES = [
    "sentence_transformers", "datasets", "sklearn.linear_model", "scipy.stats",
    "clusterns.training.run", "clusterns.evaluation.runner", "clusterns.vectors.encode",
]  # fmt: skip
# Default parameters of a job.
JOB = {"timeout_min": 24 * 60, "cpus_per_task": 1, "name": "clusterns"}


def make_launcher(
    on: str, folder: Path, gpus: int = 0, slurm: Mapping[str, object] | None = None
) -> Launcher:
    """The launcher ``on``: local, ray or slurm.

    Args:
        on: its name.
        folder: for submitit's files; every node must have access to it.
        gpus: GPUs for each program (ray, slurm).
        slurm: parameters of a job, as submitit takes them: ``slurm_partition``, ``timeout_min``, ...
    """
    if on == "local":
        return OnThisMachine()
    package = {"ray": "ray", "slurm": "submitit"}[on]
    if find_spec(package) is None:
        raise UserError(f"--on {on} needs {package}: pip install 'clusterns[{on}]'.")
    return OnRay(gpus) if on == "ray" else OnSlurm(str(folder), gpus, slurm)


class OnThisMachine:
    """Processes of this machine, forked from a server that has imported the libraries once.

    Where forking is not safe, each process imports them itself.
    """

    def __init__(self) -> None:
        kind = "forkserver" if sys.platform == "linux" else "spawn"
        self._context: Any = multiprocessing.get_context(kind)
        self._lock = Lock()
        self._running: set[BaseProcess] = set()

    def run(self, program: Program) -> int:
        """Start a process and wait for it; a negative result is the signal that killed it."""
        process = self._context.Process(target=run_forked, args=(program,))
        with self._lock, _fresh_start():
            self._context.set_forkserver_preload(LIBRARIES)
            process.start()
        self._running.add(process)
        process.join()
        self._running.discard(process)
        return LOST if process.exitcode is None else process.exitcode

    def close(self) -> None:
        """Ask all processes to save their state; kill those that have not ended after a timeout."""
        for each in tuple(self._running):
            each.terminate()
        until = time.monotonic() + SAVE_TIMEOUT
        while self._running and time.monotonic() < until:
            time.sleep(0.05)
        for each in tuple(self._running):
            each.kill()


@contextmanager
def _fresh_start() -> Iterator[None]:
    """Start processes with one thread each, and without running the user's script again."""
    environment, main = dict(os.environ), sys.modules["__main__"]
    os.environ.update(ONE_THREAD)
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        for name in ONE_THREAD.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment)


class OnRay:
    """A worker of Ray for each program: on a cluster (``RAY_ADDRESS``), or on this machine.

    Ray itself retries nothing: :func:`clusterns.lab.launch.launch` does, the same everywhere.
    """

    def __init__(self, gpus: int = 0) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        available = int(ray.cluster_resources().get("GPU", 0))
        if available < gpus:  # not an error: a cluster may grow on demand
            log(f"--gpus {gpus}: Ray has {available} now; programs wait until it has more.")
        # A new process for each program, so that no state in memory reaches the next one.
        self._run = ray.remote(
            max_calls=1, max_retries=0, num_cpus=1, num_gpus=gpus,
            runtime_env={"env_vars": dict(ONE_THREAD)},
        )(run_program)  # fmt: skip
        self._running: set[Any] = set()

    def run(self, program: Program) -> int:
        """Wait for a worker and for the program."""
        import ray

        reference = self._run.remote(program, named_variables())
        self._running.add(reference)
        try:
            return int(ray.get(reference))
        except ray.exceptions.RayError:  # a program catches its own errors: the worker is gone
            return LOST
        finally:
            self._running.discard(reference)

    def close(self) -> None:
        """Ask all programs to save their state; leave the cluster unless it was joined before."""
        import ray

        running = list(self._running)
        for each in running:
            with suppress(ray.exceptions.RayError):
                ray.cancel(each)
        if running:
            ray.wait(running, num_returns=len(running), timeout=SAVE_TIMEOUT)
        if self._is_ours:
            ray.shutdown()


class OnSlurm:
    """A job of Slurm for each program, by submitit; its cluster ``local`` runs them on this machine."""

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
            self._executor.update_parameters(**{**JOB, "gpus_per_node": gpus, **(parameters or {})})
        except (RuntimeError, NameError, TypeError, ValueError) as error:
            raise UserError(f"--on slurm: {' '.join(str(error).split())}") from error
        self._lock = Lock()  # submitit does not support threads
        self._running: set[Any] = set()

    def run(self, program: Program) -> int:
        """Submit a job and wait for it; the result is negative if it was killed or ran out of time."""
        with self._lock:
            job = self._executor.submit(run_job, program, named_variables())
        self._running.add(job)
        try:
            while not self._is_done(job):
                time.sleep(INTERVAL)
            with self._lock:
                # A program catches its own errors, so an error of submitit means that the job is gone.
                return LOST if job.exception() is not None else int(job.result())
        finally:
            self._running.discard(job)

    def _is_done(self, job: Any) -> bool:
        with self._lock:
            return bool(job.done())

    def close(self) -> None:
        """Cancel the jobs that have not ended."""
        for each in tuple(self._running):
            each.cancel(check=False)


def run_job(program: Program, variables: Mapping[str, str]) -> int:
    """Run a program inside a job of Slurm.

    Slurm announces the end of a job's time, and preemption, by SIGUSR2. Submitit would raise an
    error in the middle of the program, or requeue the job in addition to our retry. Here the
    program is asked to stop, as by SIGTERM: training saves its state, and the launcher retries it.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(STOPPED[-1]))
    signal.signal(signal.SIGUSR2, lambda *_: signal.raise_signal(signal.SIGTERM))
    return run_program(program, variables)
