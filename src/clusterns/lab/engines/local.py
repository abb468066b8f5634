"""Processes of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

from clusterns.lab.engines.program import ONE_THREAD, Program, as_text

PATIENCE = 60.0  # seconds for a run to save itself


class LocalProgram:
    """A process. It holds a pipe to this one, and ends with it, however this one ends."""

    def __init__(self, program: Program) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "clusterns.lab.engines.program", as_text(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **ONE_THREAD},
            # Ctrl-C is for the driver, which asks the programs to stop.
            start_new_session=True,
        )

    @property
    def process_id(self) -> int:
        """Of the process."""
        return self._process.pid

    def exit_code(self) -> int | None:
        """None while it runs; below 0 where it was killed."""
        return self._process.poll()

    def stop(self) -> None:
        """Ask it to save what it has, and to end."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)

    def wait(self) -> None:
        """Until it has ended; after a while it is killed."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE)
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


class Local:
    """Processes of this machine."""

    def __init__(self) -> None:
        self._started: list[LocalProgram] = []

    def start(self, program: Program) -> LocalProgram:
        """Start a process."""
        self._started = [each for each in self._started if each.exit_code() is None]
        started = LocalProgram(program)
        self._started.append(started)
        return started

    def close(self) -> None:
        """Ask all processes to end, and wait for them."""
        for each in self._started:
            each.stop()
        for each in self._started:
            each.wait()
