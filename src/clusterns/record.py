"""The record of a run, for reproducing its results: command, versions, date and machine."""

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
    """Remember the command that this process runs; only the command line calls this."""
    global _command
    _command = list(words)


def make_record(**more: Any) -> dict[str, Any]:
    """Create the record of the current run; it has no command if clusterns is used as a library."""
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


# The dev split of STS-B was once logged under the name of its test split.
RENAMED_METRICS = {"STS-B_spearman": "STS-B-dev_spearman"}


def current_metric(name: str) -> str:
    """The name that a metric in an older record has today, with or without the prefix ``eval_``."""
    bare = name.removeprefix("eval_")
    return name.removesuffix(bare) + RENAMED_METRICS.get(bare, bare)
