"""What the program says to a person: status on stderr, answers on stdout."""

from __future__ import annotations

import os

from rich.console import Console

status = Console(stderr=True, highlight=False)
answers = Console(highlight=False)


def say(message: str) -> None:
    """Print one line of status; of several processes only the first one speaks."""
    if os.environ.get("RANK", "0") == "0":
        status.print(message, soft_wrap=True, markup=False)
