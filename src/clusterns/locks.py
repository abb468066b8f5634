"""Folder locks: one process at a time, and a process that dies releases its lock."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from clusterns.console import log
from clusterns.errors import UserError
from clusterns.files import LOCK_INSIDE, wrap_os_errors

WAIT = 30.0  # seconds
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP)


@contextmanager
def locked(folder: Path, wait: float | None = None) -> Iterator[None]:
    """Hold the lock of ``folder`` within the block, against processes on all machines.

    The operating system releases the lock when the process ends, even if it crashes.

    Args:
        folder: the folder, which need not exist yet.
        wait: seconds to wait for a folder in use; 30 by default.
    """
    file = lock_file(folder)
    # Not bound to a thread: another one may end a run. Not a soft lock: it outlives a crashed process.
    lock = FileLock(file, thread_local=False, fallback_to_soft=False)
    with wrap_os_errors(folder):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            _acquire(lock, folder, file, WAIT if wait is None else wait)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            log(
                f"The filesystem of {folder} does not support locking ({error.strerror}). Make "
                "sure that no other process writes to this folder."
            )
    try:
        yield
    finally:
        lock.release()


def is_free(folder: Path) -> bool:
    """Whether no process holds the lock of ``folder``."""
    file = lock_file(folder)
    if not file.is_file():
        return True
    lock = FileLock(file, thread_local=False, fallback_to_soft=False)
    try:
        with lock.acquire(timeout=0):
            return True
    except Timeout:
        return False
    except OSError as error:
        return error.errno in _NO_LOCKS


def lock_file(folder: Path) -> Path:
    """The lock file of a folder: next to it, since the folder itself may be replaced.

    If the folder cannot be replaced (a mount point, or a parent that is not writable), it is inside.
    """
    folder = folder.resolve()
    parent = next(each for each in folder.parents if each.exists() or each == each.parent)
    if folder.is_dir() and (os.path.ismount(folder) or not os.access(parent, os.W_OK)):
        return folder / LOCK_INSIDE
    return folder.with_name(f".{folder.name}.lock")


def _acquire(lock: FileLock, folder: Path, file: Path, wait: float) -> None:
    holder = "another process"
    for seconds in (0, wait):
        try:
            lock.acquire(timeout=seconds)
            file.write_text(f"process {os.getpid()} on {socket.gethostname()}\n", "utf-8")
            return
        except Timeout:
            with suppress(OSError):
                holder = file.read_text("utf-8").strip() or holder
            if seconds == 0 < wait:
                log(f"{folder} is in use by {holder}. Waiting up to {wait:.0f} s.")
    raise UserError(
        f"{folder} is in use by {holder}. Wait for it to end, stop it, or choose another folder."
    )
