"""What a result needs to be made again: command, versions, date, machine."""

from __future__ import annotations

import platform
import sys
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
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


def make_record(**more: Any) -> dict[str, Any]:
    """The record of a run that is under way."""
    return {
        "command": ["clusterns", *sys.argv[1:]],
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: installed_version(name) for name in LIBRARIES},
        **more,
    }


def installed_version(name: str) -> str | None:
    """The version of an installed package."""
    try:
        return version(name)
    except PackageNotFoundError:  # run from a source tree that is not installed
        return None
