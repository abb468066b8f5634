"""The driver: hands out tasks, a bounded number at a time; lost ones again, a bounded number of times."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clusterns.console import bar, log
from clusterns.lab.engines.engine import Engine, Started
from clusterns.lab.engines.program import Program, reason

TRIES = 3
INTERVAL = 0.5
# What a program says that was asked to stop: by a scheduler that needs the place, for one.
STOPPED = (130, 143)


@dataclass(frozen=True)
class Task:
    """A program, and how to see that it did what it is for."""

    name: str
    program: Program
    is_done: Callable[[], bool] | None = None
    """None: where it ends with the exit code 0."""
    is_free: Callable[[], bool] = lambda: True
    """False while another process has it."""
    told: Callable[[], str] = lambda: "done"
    """What came out, in a few words."""


@dataclass
class _Running:
    task: Task
    started: Started
    since: float


@dataclass
class Driver:
    """Keeps at most ``workers`` programs in flight.

    ``tries``: how often a program is started that was lost: killed, or with its machine.
    """

    engine: Engine
    workers: int
    tries: int = TRIES
    unit: str = "cell"
    title: str = "Lab"
    _seconds: list[float] = field(default_factory=list)

    def run(self, tasks: Sequence[Task]) -> dict[str, str]:
        """Run all of them. A task that fails does not stop the others.

        Returns:
            Why each of those failed that did, by name.
        """
        waiting, running = deque(tasks), list[_Running]()
        lost: dict[str, int] = {}
        failed: dict[str, str] = {}
        ended = 0
        with bar(total=len(tasks), desc=self.title, unit=self.unit) as shown:
            while waiting or running:
                while len(running) < self.workers:
                    task = next((each for each in waiting if each.is_free()), None)
                    if task is None:
                        break
                    waiting.remove(task)
                    running.append(_Running(task, self.engine.start(task.program), time.time()))
                time.sleep(INTERVAL)
                for one in list(running):
                    code = one.started.exit_code()
                    if code is None:
                        continue
                    running.remove(one)
                    done = code == 0 if one.task.is_done is None else one.task.is_done()
                    trouble = None if done else self._trouble(one.task, code, lost)
                    if trouble is None and not done:
                        log(f"{one.task.name} was lost (exit code {code}): handed out again.")
                        waiting.append(one.task)
                        continue
                    ended += 1
                    if trouble is None:
                        self._seconds.append(time.time() - one.since)
                    else:
                        failed[one.task.name] = trouble
                    shown.update()
                    left = self._left(len(waiting), running)
                    shown.set_postfix_str(left)
                    words = f"failed: {trouble}" if trouble else one.task.told()
                    log(f"{ended} of {len(tasks)}  {one.task.name}: {words}  ({left})")
        return failed

    def _trouble(self, task: Task, code: int, lost: dict[str, int]) -> str | None:
        """Why a task failed; None where it is to be handed out again."""
        if code < 0 or code in STOPPED:
            lost[task.name] = lost.get(task.name, 0) + 1
            if lost[task.name] < self.tries:
                return None
            return f"lost {lost[task.name]} times, the last time with exit code {code}"
        return reason(Path(task.program.log))

    def _left(self, waiting: int, running: list[_Running]) -> str:
        """How long it will still take, from how long the finished ones took."""
        if not waiting and not running:
            return "all have ended"
        if not self._seconds:
            return "time left unknown"
        mean, now = sum(self._seconds) / len(self._seconds), time.time()
        seconds = waiting * mean + sum(max(0.0, mean - (now - one.since)) for one in running)
        return f"about {duration(seconds / self.workers)} left"


def duration(seconds: float) -> str:
    """In units that people use."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
