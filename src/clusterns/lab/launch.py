"""Run programs with bounded concurrency: each thread waits for one blocking ``run``.

Killed programs are retried. Failures are reported and do not stop the rest.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock
from typing import Protocol

from clusterns.console import bar, duration, log
from clusterns.lab.program import Program, reason

LOST = -1  # exit code of a program whose worker or machine is gone
STOPPED = (
    130,
    143,
)  # exit codes of a program that was asked to stop, for example preempted by a scheduler
TRIES = 3
INTERVAL = 0.5  # seconds between checks of trials that another process runs


class Launcher(Protocol):
    """Where programs run."""

    def run(self, program: Program) -> int:
        """Run a program and return its exit code, negative if it was killed or lost. Must be thread-safe."""

    def close(self) -> None:
        """Ask running programs to save themselves, wait for them, and release all resources."""


@dataclass(frozen=True)
class Task:
    """A program, and how to check that it has done its work."""

    name: str
    program: Program
    is_done: Callable[[], bool] | None = None
    """None: done if it ends with exit code 0."""
    is_free: Callable[[], bool] = lambda: True
    """False while another process works on it."""
    summary: Callable[[], str] = lambda: "done"
    """The result in a few words."""


def launch(
    tasks: Sequence[Task],
    launcher: Launcher,
    workers: int,
    *,
    unit: str = "trial",
    title: str = "Lab",
) -> dict[str, str]:
    """Run all tasks, at most ``workers`` at a time.

    Returns:
        The reason of each failure, by the name of the task.
    """
    waiting, lock, stopped = deque(tasks), Lock(), Event()
    failed: dict[str, str] = {}
    begun, ended = time.time(), 0

    def work() -> tuple[Task, str | None] | None:
        while not stopped.is_set():
            with lock:
                task = next((each for each in waiting if each.is_free()), None)
                if task is not None:
                    waiting.remove(task)
            if task is not None:
                return task, _attempt(task, launcher, stopped)
            stopped.wait(INTERVAL)
        return None

    with (
        ThreadPoolExecutor(workers) as pool,
        bar(total=len(tasks), desc=title, unit=unit) as shown,
    ):
        try:
            for done in as_completed([pool.submit(work) for _ in tasks]):
                task, error = done.result()  # type: ignore[misc]  # None only once stopped
                ended += 1
                if error is not None:
                    failed[task.name] = error
                left = (time.time() - begun) / ended * (len(tasks) - ended)
                shown.update()
                outcome = f"failed: {error}" if error else task.summary()
                more = f"  (about {duration(left)} left)" if left else ""
                log(f"{ended} of {len(tasks)}  {task.name}: {outcome}{more}")
        except BaseException:
            stopped.set()
            launcher.close()
            raise
    return failed


def _attempt(task: Task, launcher: Launcher, stopped: Event) -> str | None:
    """Run a task until it is done, fails, or was killed too often; return the reason of a failure."""
    for attempt in range(1, TRIES + 1):
        if task.is_done is not None and task.is_done():  # another process did it in the meantime
            return None
        code = launcher.run(task.program)
        if code == 0 if task.is_done is None else task.is_done():
            return None
        if code >= 0 and code not in STOPPED:
            return reason(Path(task.program.log))
        if stopped.is_set():
            break
        how = _ending(code)
        if attempt == TRIES:
            return f"{how} {TRIES} times"
        log(f"{task.name} {how}; retrying {attempt + 1}/{TRIES}.")
    return "stopped"


def _ending(code: int) -> str:
    if code in STOPPED:
        return f"was stopped (exit code {code})"
    return "was lost with its worker" if code == LOST else f"was killed (signal {-code})"
