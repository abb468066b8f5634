"""What the program says to a person: status on stderr, answers on stdout."""

from __future__ import annotations

import os
import time

from rich.console import Console

status = Console(stderr=True, highlight=False)
answers = Console(highlight=False)
# What the first process of a machine finds wrong, it finds within seconds of the others.
PATIENCE = 15.0


def say(message: str) -> None:
    """Print one line of status; of several processes only the first one speaks."""
    if os.environ.get("RANK", "0") == "0":
        status.print(message, soft_wrap=True, markup=False)


def complain(message: str) -> None:
    """Print an error; of the processes on a machine that fail alike only the first one speaks."""
    if os.environ.get("LOCAL_RANK", "0") != "0":
        # The launcher ends this process once the first one has failed, but would end that one
        # before it has spoken if this one were faster. Where it does not fail, this one speaks.
        time.sleep(PATIENCE)
    status.print(f"error: {message}", style="bold red", soft_wrap=True, markup=False)
