"""Files and folders that are written completely or not at all, even if the power fails.

A folder with content is replaced in three steps: the old one is renamed aside, the new one is renamed to its
place, and the old one is deleted. An empty folder is filled: the content is renamed to a name that marks it as
complete, then moved in entry by entry. Whichever step is interrupted, :func:`recover_folder` restores the old
content or completes the new; call it before you open a folder.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from clusterns.errors import UserError

_WRITE_ERRORS = [
    getattr(errno, name)
    for name in "ENOSPC EROFS EACCES EPERM EDQUOT EFBIG EIO ENOTDIR EEXIST ENAMETOOLONG".split()
]
# The lock of a folder that is never replaced, see `clusterns.locks`.
LOCK_INSIDE = ".lock"
_COMPLETE = ".content.complete"  # in a folder that is being filled


def cache_folder(name: str) -> Path:
    """A folder for reproducible files, in ``$CLUSTERNS_CACHE`` or the home folder."""
    cache = os.environ.get("CLUSTERNS_CACHE")
    return (Path(cache).expanduser() if cache else Path.home() / ".cache" / "clusterns") / name


def partial_path(path: Path) -> Path:
    """A temporary name next to ``path``, for writing."""
    # A random name rather than the process id: two machines may share a disk.
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.partial")


def is_partial(path: Path) -> bool:
    """Whether ``path`` has the name of an unfinished file or folder of an interrupted process."""
    return path.name.startswith(".") and path.name.endswith((".partial", ".aside"))


@contextmanager
def atomic_file(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """Yield a temporary path whose file replaces ``path`` if the block succeeds.

    Args:
        path: the file; its folder is created.
        durable: flush file and folder to the disk, so that a power cut cannot undo it.
    """
    temporary = partial_path(path)
    with wrap_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            if durable:
                flush(temporary)
            temporary.replace(path)
            if durable:
                flush(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that replaces the folder ``path`` if the block succeeds.

    An empty folder is filled rather than replaced: it may be a mount point, the working directory
    or the target of a link. The result is flushed to the disk.
    """
    path = path.resolve()
    with wrap_os_errors(path):
        recover_folder(path)
        if path.exists() and not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        fill = path.is_dir() and is_empty(path)
        temporary = partial_path(path / "content" if fill else path)
        temporary.mkdir(parents=True)
        try:
            yield temporary
            flush_all(temporary)
            if fill:
                temporary.rename(path / _COMPLETE)
            else:
                _swap(temporary, path)
            recover_folder(path)
            flush(path)
            flush(path.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def replace_folder(path: Path, new: Path) -> None:
    """Atomically replace the folder ``path`` with the finished folder ``new`` next to it."""
    path = path.resolve()
    with wrap_os_errors(path):
        flush_all(new)
        _swap(new.resolve(), path)
        recover_folder(path)
        flush(path.parent)


def _swap(new: Path, path: Path) -> None:
    """Rename ``path`` aside, if there is one, and ``new`` to ``path``."""
    while True:
        try:
            with suppress(FileNotFoundError):
                path.rename(_aside(path))
            new.rename(path)
        except OSError as error:
            # Another process has just recovered the old folder.
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            recover_folder(path)
        else:
            return


def recover_folder(path: Path) -> None:
    """Complete or undo an interrupted write of the folder ``path``, if there was one."""
    path = path.resolve()
    aside, complete = _aside(path), path / _COMPLETE
    with wrap_os_errors(path), suppress(FileNotFoundError):  # another process may be recovering it
        if aside.exists():
            if path.exists():
                # Renamed first, so that a folder with the name "aside" is always complete.
                trash = partial_path(path)
                aside.rename(trash)
                shutil.rmtree(trash, ignore_errors=True)
            else:
                aside.rename(path)
        if complete.is_dir():
            for entry in sorted(complete.iterdir()):
                entry.rename(path / entry.name)
            complete.rmdir()


def _aside(path: Path) -> Path:
    return path.parent / f".{path.name}.aside"


def is_empty(folder: Path) -> bool:
    """Whether a folder is empty, apart from a lock and the unfinished files of an interrupted process."""
    return all(entry.name == LOCK_INSIDE or is_partial(entry) for entry in folder.iterdir())


def flush_all(folder: Path) -> None:
    """Wait until a folder and everything in it is on the disk."""
    for each in (*folder.rglob("*"), folder):
        flush(each)


def flush(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot flush a folder.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(descriptor)


@contextmanager
def wrap_os_errors(path: Path) -> Iterator[None]:
    """Turn a full, read-only or forbidden disk into a :class:`UserError`."""
    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        reason = _reason(error)
        if reason is None:
            raise
        raise UserError(f"cannot write {path}: {reason}.") from error


def _reason(error: Exception) -> str | None:
    """Why the disk cannot be written; None for other errors."""
    if isinstance(error, OSError):
        return error.strerror if error.errno in _WRITE_ERRORS else None
    # safetensors and PyTorch raise errors of their own, with the cause as text.
    text = str(error)
    unknown = (
        "the disk is full or the file cannot be written" if "PytorchStreamWriter" in text else None
    )
    return next((reason for reason in map(os.strerror, _WRITE_ERRORS) if reason in text), unknown)


def write_json(path: Path, value: Any, *, durable: bool = False) -> None:
    """Write ``value`` as indented JSON, completely or not at all."""
    with atomic_file(path, durable=durable) as temporary:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", "utf-8")


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text("utf-8"))
