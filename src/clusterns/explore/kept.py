"""What takes long to compute is kept beside the index that it was computed from."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterns.files import atomic_file

# The parser of Python 3.11, with which NumPy reads the head of a file, fails now and then when
# many threads use it at once.
_one_at_a_time = threading.Lock()


def kept(path: Path, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    """The array in the file ``path``, mapped; made and written where there is none."""
    found = find_kept(path)
    if found is None:
        keep(path, make())
        found = find_kept(path)
    assert found is not None, f"{path} was written and cannot be read"
    return found


def find_kept(path: Path) -> NDArray[Any] | None:
    """The array in the file ``path``, mapped, or None."""
    try:
        with _one_at_a_time:
            return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None


def keep(path: Path, array: NDArray[Any]) -> None:
    """Write an array, whole or not at all."""
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.save(file, array, allow_pickle=False)
