"""A launcher that is killed leaves its workers behind: the run stays theirs until they end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from clusterns.locks import locked
from tests.training.test_distributed import TORCHRUN, call, folder, train

__all__ = ["folder"]  # a fixture


def first_of(workers: list[psutil.Process]) -> int:
    (rank_0,) = [worker.pid for worker in workers if worker.environ().get("RANK") == "0"]
    return rank_0


def test_the_first_worker_holds_the_run_and_the_launcher_does_not(
    folder: Path,
    tiny_bert: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output = folder / "left_behind"
    endless = train(folder, tiny_bert, output, max_steps=10**6, eval_steps=10**6)
    launcher = subprocess.Popen(
        [*TORCHRUN, "-m", "clusterns", *endless],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "CLUSTERNS_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1"},
    )
    workers: list[psutil.Process] = []
    try:
        deadline = time.monotonic() + 300
        while not (output / "metrics.jsonl").exists():
            assert launcher.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        workers = psutil.Process(launcher.pid).children(recursive=True)
        launcher.kill()
        launcher.wait()
        holder = first_of(workers)

        monkeypatch.setattr("clusterns.locks.WAIT", 0.0)
        assert call(["train", "--output", str(output), "--resume"], folder) == 2
        said = capfd.readouterr().err
        assert f"in use by process {holder} on {socket.gethostname()}" in said
        assert (output / "run.json").exists()
    finally:
        if launcher.poll() is None:
            workers = psutil.Process(launcher.pid).children(recursive=True)
            launcher.kill()
        for worker in workers:
            worker.send_signal(signal.SIGKILL)
        psutil.wait_procs(workers, timeout=60)
    with locked(output, wait=10):  # the dead keep nothing
        pass
