"""One process at a time in a folder: a lock that a dead process does not keep."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from clusterns.console import say
from clusterns.errors import UserError
from clusterns.files import LOCK_INSIDE, disk_errors

WAIT = 30.0
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP)


@contextmanager
def locked(folder: Path, wait: float | None = None) -> Iterator[None]:
    """Within the block no other process that asks, on any machine, works in ``folder``.

    The system itself gives the lock of a process back when that one ends, however it ends. Of
    processes that work together only the first one asks: the launcher does not write.

    Args:
        folder: need not exist yet.
        wait: seconds after which a folder in use is refused; by default 30.
    """
    file = lock_file(folder)
    # Not of one thread: a run may be ended by another than the one that began it. And no soft
    # lock, which a dead process keeps.
    lock = FileLock(file, thread_local=False, fallback_to_soft=False)
    with disk_errors(folder):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            _acquire(lock, folder, file, WAIT if wait is None else wait)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            say(
                f"The disk of {folder} knows no locks ({error.strerror}): see to it yourself that "
                "no second process writes there."
            )
    try:
        yield
    finally:
        lock.release()


def lock_file(folder: Path) -> Path:
    """Beside the folder, which may be replaced whole; inside where that can never happen, since
    the folder is a disk of its own or its parent is not ours to write to."""
    folder = folder.resolve()
    parent = next(each for each in folder.parents if each.exists() or each == each.parent)
    if folder.is_dir() and (os.path.ismount(folder) or not os.access(parent, os.W_OK)):
        return folder / LOCK_INSIDE
    return folder.with_name(f".{folder.name}.lock")


def _acquire(lock: FileLock, folder: Path, file: Path, wait: float) -> None:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say(f"{folder} is in use by {_holder(file)}: waiting {wait:.0f} s for it to end.")
        try:
            lock.acquire(timeout=wait)
        except Timeout:
            raise UserError(
                f"{folder} is in use by {_holder(file)}: wait until it has ended, end it, or name "
                "another folder."
            ) from None
    file.write_text(f"process {os.getpid()} on {socket.gethostname()}\n", "utf-8")


def _holder(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip() or "another process"
    except OSError:
        return "another process"
