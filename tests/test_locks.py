from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from clusterns import locks
from clusterns.errors import UserError
from clusterns.files import is_empty
from clusterns.locks import lock_file, locked

HOLD = """
import sys, time
from pathlib import Path
from clusterns.locks import locked
with locked(Path(sys.argv[1])):
    exec(sys.argv[2])
    print("held", flush=True)
    time.sleep(120)
"""


def hold(folder: Path, then: str = "") -> subprocess.Popen[str]:
    """Another process that has the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), then], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_folder_in_use_is_refused_by_name_and_a_dead_process_keeps_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "runs" / "mine"
    other = hold(folder)
    try:
        holder = f"process {other.pid} on {socket.gethostname()}"
        with pytest.raises(UserError, match=f"in use by {holder}"), locked(folder, wait=0.1):
            pass
        assert f"in use by {holder}. Waiting" in capsys.readouterr().err
        other.send_signal(signal.SIGKILL)
        other.wait()
        with locked(folder, wait=0.1):
            assert f"process {os.getpid()} on" in lock_file(folder).read_text()
    finally:
        other.kill()
        other.wait()
    assert not folder.exists()  # the lock lies beside it
    with locked(folder, wait=0.1):  # given back
        pass


def test_a_name_and_its_link_are_one_folder(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    with (
        locked(tmp_path / "link"),
        pytest.raises(UserError, match="in use"),
        locked(tmp_path / "disk", wait=0),
    ):
        pass


def test_inside_where_the_folder_can_never_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os.path, "ismount", lambda path: path == tmp_path)
    with locked(tmp_path):
        assert lock_file(tmp_path).parent == tmp_path
        assert lock_file(tmp_path).exists()
        assert is_empty(tmp_path)
    monkeypatch.setattr(os.path, "ismount", lambda path: False)
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path.parent)
    assert lock_file(tmp_path).parent == tmp_path
    assert lock_file(tmp_path / "new") == tmp_path / ".new.lock"


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_disk_without_locks_is_said_and_used(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def flock(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    with locked(tmp_path / "run"):
        assert "does not support locking" in capsys.readouterr().err


def test_a_worker_that_outlives_its_process_does_not_keep_the_lock(tmp_path: Path) -> None:
    """Workers that tokenise ahead are forks of the process that holds the lock."""
    other = hold(tmp_path / "run", "import os\nif os.fork() == 0: time.sleep(5); os._exit(0)")
    other.send_signal(signal.SIGKILL)
    other.wait()
    with locked(tmp_path / "run", wait=0.1):
        pass


def test_what_is_not_ours_to_write_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="cannot write"), locked(tmp_path / "file" / "run"):
        pass
    assert locks.WAIT == 30
