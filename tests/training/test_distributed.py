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
from clusterns.locks import locked
from clusterns.training.checkpoints import last_checkpoint
from clusterns.training.folder import read_metrics
from tests.helpers.two_processes import join, start_two

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
        patch.setattr("clusterns.console.PATIENCE", 0.0, raising=False)
        patch.setattr("sys.argv", ["clusterns", *arguments])
        try:
            main()
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def stop_when(
    ready: Callable[[], bool], launch: list[str], arguments: list[str], number: int, folder: Path
) -> str:
    """Launch two processes, send ``number`` once they are ready; gives what they said."""
    with (folder / "errors.txt").open("w") as errors:
        launcher = subprocess.Popen(
            [*launch, "-m", "clusterns", *arguments],
            stderr=errors,
            env={**os.environ, "OMP_NUM_THREADS": "1", "CLUSTERNS_CACHE": str(folder / "cache")},
        )  # fmt: skip
    deadline = time.monotonic() + 300
    while not ready():
        assert launcher.poll() is None, (folder / "errors.txt").read_text()
        assert time.monotonic() < deadline
        time.sleep(0.002)
    if number == signal.SIGKILL:
        for child in psutil.Process(launcher.pid).children(recursive=True):
            child.kill()
        launcher.kill()
    launcher.send_signal(number)
    launcher.wait(timeout=120)
    return (folder / "errors.txt").read_text()


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


def test_killed_on_two_interrupted_on_two_and_finished_on_one(
    one: Path, folder: Path, tiny_bert: Path
) -> None:
    two = folder / "two"
    arguments = train(folder, tiny_bert, two)

    def has_checkpoint() -> bool:
        return last_checkpoint(two / "checkpoints") is not None

    stop_when(has_checkpoint, TORCHRUN, arguments, signal.SIGKILL, folder)
    assert not (two / "results.json").exists()

    # As the resumed run does, so that a line beyond is its own.
    kept = [json.dumps(line) + "\n" for line in metrics(two) if line["step"] <= 10]
    (two / "metrics.jsonl").write_text("".join(kept))

    def went_on() -> bool:
        return metrics(two)[-1]["step"] > 10

    resume = ["train", "--output", str(two), "--resume"]
    said = stop_when(went_on, ACCELERATE, resume, signal.SIGINT, folder)
    assert said.count("Resuming from checkpoint-10.") == 1
    assert said.count("Stopped: stopped at step ") == 1
    assert "KeyboardInterrupt" not in said
    saved = max(int(path.name[11:]) for path in (two / "checkpoints").glob("checkpoint-*"))
    assert f"stopped at step {saved}, which is saved" in said
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
    assert "error: batch_size = 15 cannot be shared by 2 processes." in said
    assert "error: --resume: seed = 1 differs from the run" in said
    assert "error: --resume: there is no run in" in said
    assert "Traceback" not in said + (folder / "errors-1.txt").read_text()
    assert not (folder / "odd").exists()
    assert_equal_runs(killed, one)


def first_of(workers: list[psutil.Process]) -> int:
    (rank_0,) = [worker.pid for worker in workers if worker.environ().get("RANK") == "0"]
    return rank_0


def test_a_killed_launcher_leaves_the_run_to_its_workers(
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
        env={**os.environ, "CLUSTERNS_CACHE": str(folder / "cache")},
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
