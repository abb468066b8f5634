"""What the program says to a person: status on stderr, answers on stdout."""

from __future__ import annotations

from rich.console import Console

status = Console(stderr=True, highlight=False)
answers = Console(highlight=False)


def say(message: str) -> None:
    """Print one line of status."""
    status.print(message, soft_wrap=True)
