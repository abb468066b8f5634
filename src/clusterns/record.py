"""What it takes to reproduce a result: command, versions, date and machine."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

LIBRARIES = (
    "accelerate",
    "clusterns",
    "datasets",
    "numpy",
    "scikit-learn",
    "scipy",
    "sentence-transformers",
    "torch",
    "transformers",
)
_command: list[str] | None = None


def set_command(words: Sequence[str]) -> None:
    """Remember the command that this process runs; only the command line knows that it is one."""
    global _command
    _command = list(words)


def make_record(**more: Any) -> dict[str, Any]:
    """The record of the current run; without a command where ours is used as a library."""
    return {
        **({} if _command is None else {"command": _command}),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": library_versions(),
        **more,
    }


def library_versions() -> dict[str, str | None]:
    """The versions of the libraries that can change a result."""
    return {name: installed_version(name) for name in LIBRARIES}


def installed_version(name: str) -> str | None:
    """The version of an installed package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:  # run from a source tree that is not installed
        return None
