"""A run on two processes is the run on one: same recipe, same rows, same numbers, also when it is
killed or interrupted and goes on with another number of processes."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from safetensors.numpy import load_file

from clusterns.cli import main
from clusterns.training.checkpoints import last_checkpoint
from clusterns.training.folder import read_metrics
from tests.helpers.two_processes import join, start_two

Capture = pytest.CaptureFixture[str]
TOPICS = [
    "song guitar opera chorus violin melody concert rhythm".split(),
    "planet orbit comet telescope galaxy rocket moon crater".split(),
    "court judge appeal verdict statute counsel trial jury".split(),
]
# The means of random vectors lie apart, as those of a trained encoder do: what two processes round
# in another way than one stays in the last digits.
SETTINGS = {
    "batch_size": 16, "clusters": 4, "start_step": 3, "positives": "crop", "pooling": "mean",
    "head": "true", "dropout": 0.0, "max_steps": 20, "eval_steps": 10, "patience": 0,
    "log_steps": 1, "learning_rate": 1e-3, "margin_weight": 1.0, "momentum": 0.1, "heldout": 10,
}  # fmt: skip
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
# In spite of its name the option that starts several processes on a machine without GPUs too.
ACCELERATE = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu",
              "--num_processes", "2"]  # fmt: skip


def train(folder: Path, base: Path, output: Path, **changes: object) -> list[str]:
    values = {**SETTINGS, **changes}
    pairs = [part for key, value in values.items() for part in ("--set", f"{key}={value}")]
    return ["train", str(folder / "corpus.txt"), "--output", str(output), "--base", str(base),
            "--dev", "none", *pairs]  # fmt: skip


def call(arguments: list[str], folder: Path) -> int:
    """Run the program in this process; gives its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLUSTERNS_CACHE", str(folder / "cache"))
        patch.setattr("clusterns.console.ERROR_DELAY", 0.0, raising=False)
        patch.setattr("sys.argv", ["clusterns", *arguments])
        try:
            main()
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def launch(
    launcher: list[str], arguments: list[str], folder: Path, ready: Callable[[], bool]
) -> subprocess.Popen[bytes]:
    """Launch two processes, and wait until they are ready; their errors go to ``errors.txt``."""
    with (folder / "errors.txt").open("w") as errors:
        started = subprocess.Popen(
            [*launcher, "-m", "clusterns", *arguments],
            stderr=errors,
            env={**os.environ, "OMP_NUM_THREADS": "1", "CLUSTERNS_CACHE": str(folder / "cache")},
        )  # fmt: skip
    deadline = time.monotonic() + 300
    while not ready():
        assert started.poll() is None, (folder / "errors.txt").read_text()
        assert time.monotonic() < deadline
        time.sleep(0.002)
    return started


def metrics(run: Path) -> list[dict[str, float]]:
    lines = read_metrics(run / "metrics.jsonl")
    return [{k: v for k, v in line.items() if not k.endswith(("time", "second"))} for line in lines]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    generator = random.Random(1)
    texts = {
        " ".join(generator.choices(generator.choice(TOPICS), k=generator.randint(6, 12)))
        for _ in range(100)
    }
    (folder / "corpus.txt").write_text("\n".join(sorted(texts)))
    return folder


@pytest.fixture(scope="module")
def one(folder: Path, tiny_bert: Path) -> Path:
    """The run that the others must equal: one process, never stopped."""
    assert call(train(folder, tiny_bert, folder / "one"), folder) == 0
    assert json.loads((folder / "one" / "results.json").read_text())["clustering_started_at"] == 3
    return folder / "one"


def assert_equal_runs(run: Path, one: Path) -> None:
    for a, b in zip(metrics(one), metrics(run), strict=True):
        assert b.pop("event", None) == a.pop("event", None)  # in words
        assert b == pytest.approx(a, rel=1e-5, abs=1e-5), a["step"]
    for name in ("model.safetensors", "2_TrainingHead/model.safetensors", "loss.safetensors"):
        a, b = (load_file(each / "checkpoints" / "checkpoint-20" / name) for each in (one, run))
        assert a.keys() == b.keys()
        for key, value in a.items():
            assert b[key] == pytest.approx(value, rel=1e-5, abs=1e-5), (name, key)
    a, b = (json.loads((each / "results.json").read_text()) for each in (one, run))
    assert b == pytest.approx(a, abs=1e-5)
    a, b = ({str(path.relative_to(each)) for path in each.glob("*")} for each in (one, run))
    assert a == b


@pytest.mark.slow
def test_killed_on_two_interrupted_on_two_and_finished_on_one(
    one: Path, folder: Path, tiny_bert: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = folder / "two"
    resume = ["train", "--output", str(two), "--resume"]

    def has_checkpoint() -> bool:
        return last_checkpoint(two / "checkpoints") is not None

    launcher = launch(TORCHRUN, train(folder, tiny_bert, two), folder, has_checkpoint)
    workers = psutil.Process(launcher.pid).children(recursive=True)
    try:
        for worker in workers:
            worker.suspend()
        launcher.kill()
        launcher.wait()
        # A killed launcher leaves the run to its workers, which keep the lock as long as they live.
        (holder,) = (each.pid for each in workers if each.environ().get("RANK") == "0")
        with monkeypatch.context() as patch:
            patch.setattr("clusterns.locks.WAIT", 0.0)
            assert call(resume, folder) == 2
        expected = f"in use by process {holder} on {socket.gethostname()}"
        assert expected in capfd.readouterr().err
    finally:
        for worker in workers:
            worker.kill()
        psutil.wait_procs(workers, timeout=60)
    assert not (two / "results.json").exists()

    # As the resumed run does, so that a line beyond is its own.
    kept = [json.dumps(line) + "\n" for line in metrics(two) if line["step"] <= 10]
    (two / "metrics.jsonl").write_text("".join(kept))

    def went_on() -> bool:
        return metrics(two)[-1]["step"] > 10

    launcher = launch(ACCELERATE, resume, folder, went_on)
    launcher.send_signal(signal.SIGINT)
    launcher.wait(timeout=120)
    said = (folder / "errors.txt").read_text()
    assert said.count("Resuming from checkpoint-10.") == 1
    assert "KeyboardInterrupt" not in said
    saved = max(int(path.name[11:]) for path in (two / "checkpoints").glob("checkpoint-*"))
    assert said.count(f"Stopped at step {saved}, which is saved. Resume with: clusterns train") == 1
    states = {path.name for path in (two / "checkpoints" / f"checkpoint-{saved}").glob("rng*")}
    assert states == {"rng_state_0.pth", "rng_state_1.pth"}
    assert not (two / "results.json").exists()

    assert call(resume, folder) == 0
    assert_equal_runs(two, one)


def test_a_checkpoint_with_half_a_random_state_is_not_whole(one: Path, tmp_path: Path) -> None:
    checkpoints = tmp_path / "checkpoints"
    shutil.copytree(one / "checkpoints", checkpoints)
    assert last_checkpoint(checkpoints) == checkpoints / "checkpoint-20"
    state = (checkpoints / "checkpoint-20" / "rng_state.pth").read_bytes()
    for rank, kept in enumerate((len(state), len(state) // 2)):
        (checkpoints / "checkpoint-20" / f"rng_state_{rank}.pth").write_bytes(state[:kept])
    assert last_checkpoint(checkpoints) == checkpoints / "checkpoint-10"


def in_two_processes(rank: int, folder: Path, commands: list[list[str]]) -> None:
    join(rank, folder)
    with (folder / f"errors-{rank}.txt").open("w") as errors:
        os.dup2(errors.fileno(), sys.stderr.fileno())
        codes = [call(command, folder) for command in commands]
    (folder / f"codes-{rank}.json").write_text(json.dumps(codes))


def test_begun_on_one_and_finished_on_two_and_what_two_refuse(
    one: Path, folder: Path, tiny_bert: Path
) -> None:
    killed = folder / "killed"
    shutil.copytree(one, killed)
    shutil.rmtree(killed / "checkpoints" / "checkpoint-20")
    shutil.rmtree(killed / "model")
    (killed / "results.json").unlink()
    resume = ["train", "--output", str(killed), "--resume"]
    commands = [
        train(folder, tiny_bert, folder / "odd", batch_size=15),  # refused by each of them
        [*resume, "--set", "seed=1"],  # refused by the first one, which alone looks at the record
        ["train", "--output", str(folder / "nowhere"), "--resume"],  # refused by each of them
        resume,
    ]
    start_two(in_two_processes, folder, commands)
    for rank in (0, 1):
        assert json.loads((folder / f"codes-{rank}.json").read_text()) == [2, 2, 2, 0]
    said = (folder / "errors-0.txt").read_text()
    assert "error: batch_size = 15 cannot be split over 2 processes." in said
    assert "error: --resume: seed = 1 differs from the run" in said
    assert "error: --resume: there is no run in" in said
    assert "Traceback" not in said + (folder / "errors-1.txt").read_text()
    assert not (folder / "odd").exists()
    assert_equal_runs(killed, one)
