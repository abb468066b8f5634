"""Files written whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from clusterns.errors import UserError

_DISK_ERRORS = (
    errno.ENOSPC,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.ENAMETOOLONG,
)
# The lock of a folder that is never replaced, see `clusterns.locks`.
LOCK_INSIDE = ".lock"


def cache_folder(name: str) -> Path:
    """A folder of ours for what can be had again: in ``$CLUSTERNS_CACHE``, or in the home folder."""
    cache = os.environ.get("CLUSTERNS_CACHE")
    return (Path(cache).expanduser() if cache else Path.home() / ".cache" / "clusterns") / name


def neighbour(path: Path) -> Path:
    """A name beside ``path`` for what is still being written."""
    # Not by the number of the process: two machines may share a disk.
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.partial")


def is_unfinished(path: Path) -> bool:
    """Whether a name is that of a :func:`neighbour`, left behind by a kill."""
    return path.name.startswith(".") and path.name.endswith(".partial")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary neighbour of ``path`` that takes its place when the block succeeds."""
    temporary = neighbour(path)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder whose content becomes that of the folder ``path`` on success.

    A folder that is there and empty is filled in place, the entries by name: it may be a disk of
    its own, the current folder, or behind a link. Any other one is replaced whole.
    """
    path = path.resolve()
    with disk_errors(path):
        in_place = path.is_dir() and is_empty(path)
        temporary = neighbour(path / "content" if in_place else path)
        temporary.mkdir(parents=True)
        try:
            yield temporary
            if in_place:
                for entry in sorted(temporary.iterdir()):
                    entry.replace(path / entry.name)
            else:
                shutil.rmtree(path, ignore_errors=True)
                temporary.replace(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def is_empty(folder: Path) -> bool:
    """Whether nothing but our own lock is in a folder."""
    return all(entry.name == LOCK_INSIDE for entry in folder.iterdir())


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn a full, read-only or forbidden disk into one clear sentence."""
    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        trouble = _disk_trouble(error)
        if trouble is None:
            raise
        raise UserError(f"cannot write {path}: {trouble}.") from error


def _disk_trouble(error: Exception) -> str | None:
    """What is wrong with the disk, or None where the error is of another kind."""
    if isinstance(error, OSError):
        return error.strerror if error.errno in _DISK_ERRORS else None
    # The writers of safetensors and PyTorch raise errors of their own, with the cause as text.
    text = str(error)
    for number in _DISK_ERRORS:
        if os.strerror(number) in text:
            return os.strerror(number)
    return (
        "the disk is full or the file cannot be written" if "PytorchStreamWriter" in text else None
    )


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as indented JSON, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", "utf-8")


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text("utf-8"))
