"""The launcher: so many at a time, retries, reasons; and real processes, Ray and submitit under it."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from clusterns.errors import UserError
from clusterns.lab import launch as module
from clusterns.lab import launchers
from clusterns.lab.experiment import load_experiment
from clusterns.lab.launch import Launcher, Task, launch
from clusterns.lab.launchers import OnSlurm, OnThisMachine, make_launcher
from clusterns.lab.program import Program, named_variables
from clusterns.lab.trial import run_trials, summary, trials_of
from clusterns.locks import is_free
from tests.helpers.commands import start_cli
from tests.lab.small_lab import lab, scores

CHECKPOINT = "cells/*/run/checkpoints/checkpoint-2/trainer_state.json"
NO_SUBMITIT = "needs submitit: pip install 'clusterns[slurm]'"


@dataclass
class Scripted:
    """A launcher whose programs end with given exit codes."""

    codes: dict[str, list[int]]
    starts: list[str] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    running: int = 0
    most: int = 0
    closed: bool = False

    def run(self, program: Program) -> int:
        name = program.arguments[0]
        self.starts.append(name)
        self.running += 1
        self.most = max(self.most, self.running)
        time.sleep(0.02)
        self.running -= 1
        code = self.codes[name].pop(0)
        if code == 0:
            self.done.add(name)
        return code

    def close(self) -> None:
        self.closed = True

    def task(self, name: str, log: Path) -> Task:
        return Task(name, Program((name,), str(log)), lambda: name in self.done)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "log.txt").write_text("some words\nerror: no such thing\n")
    return tmp_path / "log.txt"


def run(codes: dict[str, list[int]], log: Path, workers: int = 2) -> tuple[Scripted, dict]:
    scripted = Scripted({name: list(each) for name, each in codes.items()})
    return scripted, launch([scripted.task(name, log) for name in codes], scripted, workers)


def test_no_more_at_a_time_than_workers(log: Path) -> None:
    scripted, failed = run({name: [0] for name in "abcdefg"}, log, workers=3)
    assert failed == {}
    assert scripted.most == 3
    assert sorted(scripted.starts) == list("abcdefg")


def test_what_was_killed_is_retried_and_what_fails_is_not(log: Path, capsys) -> None:
    codes = {"a": [-9, -1, 0], "b": [-9, -9, -9, 0], "c": [130, 0], "d": [2], "e": [143] * 3}
    scripted, failed = run(codes, log)
    starts = [scripted.starts.count(name) for name in "abcde"]
    assert starts == [3, 3, 2, 1, 3]
    assert failed == {
        "b": "was killed (signal 9) 3 times", "d": "no such thing",
        "e": "was stopped (exit code 143) 3 times",
    }  # fmt: skip
    said = capsys.readouterr().err
    assert "a was killed (signal 9); retrying 2/3." in said
    assert "a was lost with its worker; retrying 3/3." in said


def test_without_a_check_a_task_is_done_with_exit_code_0(log: Path) -> None:
    scripted = Scripted({"a": [0], "b": [-9, 0], "c": [1]})
    tasks = [Task(name, Program((name,), str(log))) for name in "abc"]
    assert launch(tasks, scripted, 1) == {"c": "no such thing"}
    assert scripted.starts == ["a", "b", "b", "c"]


def test_what_another_process_has_is_waited_for_and_not_run_again(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two labs in one folder share the trials, and neither reports those of the other as failed."""
    monkeypatch.setattr(module, "INTERVAL", 0.01)
    scripted = Scripted({"taken": [], "free": [0]})
    order: list[str] = []

    def is_free_now() -> bool:
        if "free" in scripted.done:
            scripted.done.add("taken")  # by the other lab
        return "taken" in scripted.done

    taken, free = (
        replace(scripted.task(name, log), summary=lambda name=name: order.append(name) or "done")
        for name in ("taken", "free")
    )
    assert launch([replace(taken, is_free=is_free_now), free], scripted, 1) == {}
    assert order == ["free", "taken"]
    assert scripted.starts == ["free"]


def test_after_ctrl_c_nothing_is_started_and_what_runs_is_asked_to_stop(log: Path) -> None:
    scripted = Scripted({name: [0, 0] for name in "abcdef"})

    def interrupt() -> str:
        raise KeyboardInterrupt

    tasks = [replace(scripted.task(name, log), summary=interrupt) for name in "abcdef"]
    with pytest.raises(KeyboardInterrupt):
        launch(tasks, scripted, 1)
    assert scripted.closed
    assert len(scripted.starts) < 6


def test_summaries_are_short() -> None:
    values = {"dev": 48.12, "sts/Avg.": 36.78, "sts/STS12": 1.0}
    result = {"metric": "STS-B_spearman", "values": values, "processor_seconds": 164.2}
    assert summary(result) == "STS-B dev 48.1, sts/Avg. 36.8; 3 min of processor time"
    result |= {"metric": "pairs_spearman", "values": {"dev": 48.12}}
    assert summary(result) == "pairs_spearman 48.1; 3 min of processor time"


@pytest.fixture(params=["local", "ray", "slurm"])
def launcher(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Launcher]:
    if request.param == "ray":
        request.getfixturevalue("ray_place")
    if request.param == "slurm":
        pytest.importorskip("submitit", reason=NO_SUBMITIT)
        found: Launcher = OnSlurm(str(tmp_path / "submitit"), cluster="local")
    else:
        found = make_launcher(request.param, tmp_path)
    yield found
    found.close()


@pytest.fixture
def expected(whole: Path) -> dict[str, dict[str, float]]:
    """The scores of a lab that nothing happened to."""
    return scores(whole)


def until(condition: Callable[[], object], seconds: float = 1800) -> None:
    """Wait for a condition; the limit is for a test that hangs, not for a slow machine."""
    end = time.time() + seconds
    while not condition():
        assert time.time() < end
        time.sleep(0.02)


def kill_a_worker(output: Path, by: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to the process that holds the lock of a trial with a checkpoint."""
    until(lambda: list(output.glob(CHECKPOINT)))
    trial = next(iter(output.glob(CHECKPOINT))).parents[3]
    words = trial.with_name(f".{trial.name}.lock").read_text("utf-8").split()
    os.kill(int(words[1]), by)


def run_and_signal(
    experiment: Path, output: Path, launcher: Launcher, by: signal.Signals
) -> list[bool]:
    """Run a lab of which one trial gets a signal; returns which trials were resumed."""
    sender = threading.Thread(target=kill_a_worker, args=(output, by))
    sender.start()
    failed = run_trials(trials_of(load_experiment(str(experiment)), output, "small"), launcher, 2)
    sender.join()
    assert failed == {}
    results = [json.loads(file.read_text()) for file in output.glob("cells/*/result.json")]
    return [result["resumed"] for result in results]


def test_a_program_works_or_fails_with_its_reason(launcher: Launcher, tmp_path: Path) -> None:
    good = Program(("recipes", "default"), str(tmp_path / "good.txt"))
    bad = Program(("lab", "trial", str(tmp_path / "none")), str(tmp_path / "bad.txt"))
    tasks = [
        Task("good", good, lambda: "batch_size" in _text(tmp_path / "good.txt")),
        Task("bad", bad, lambda: False),
    ]
    (failed,) = launch(tasks, launcher, 1).items()
    assert failed[0] == "bad"
    assert "is not a trial of a lab" in failed[1]


def _text(file: Path) -> str:
    return file.read_text() if file.is_file() else ""


def test_a_killed_trial_is_retried_and_has_the_same_scores(
    launcher: Launcher, experiment: Path, expected: dict, tmp_path: Path, capsys
) -> None:
    output = tmp_path / "lab"
    assert any(run_and_signal(experiment, output, launcher, signal.SIGKILL))
    assert re.search(
        r"was (killed \(signal 9\)|lost with its worker); retrying 2/3", capsys.readouterr().err
    )
    assert scores(output) == expected


def test_a_job_whose_time_runs_out_saves_itself_and_is_retried(
    experiment: Path, expected: dict, tmp_path: Path, capsys
) -> None:
    pytest.importorskip("submitit", reason=NO_SUBMITIT)
    launcher, output = OnSlurm(str(tmp_path / "submitit"), cluster="local"), tmp_path / "lab"
    # As Slurm announces it.
    assert any(run_and_signal(experiment, output, launcher, signal.SIGUSR2))
    assert re.search(r"was stopped \(exit code 1(30|43)\); retrying", capsys.readouterr().err)
    assert scores(output) == expected


def test_a_lab_on_ray_killed_and_continued_has_the_same_scores(
    ray_place: Path, experiment: Path, expected: dict, tmp_path: Path
) -> None:
    output = tmp_path / "lab"
    run = ["lab", "run", experiment, "--output", output, "--on", "ray"]
    killed = start_cli(*run, daemon=False)
    try:
        until(lambda: list(output.glob(CHECKPOINT)) or killed.poll() is not None)
        assert killed.poll() is None
    finally:
        killed.kill()
        killed.wait()
    assert len(scores(output)) < 2
    # Programs end with the process that started them, and a Ray of our own, too.
    cells = list(output.glob("cells/*-*"))
    until(lambda: all(is_free(each) for each in cells) and not _ray_runs(ray_place))
    done = lab(*run[1:])
    assert done.code == 0, done.err
    assert "2 of 2 trials have a result" in done.out
    assert scores(output) == expected


def _ray_runs(folder: Path) -> bool:
    for process in psutil.process_iter(["cmdline", "status"]):
        words = " ".join(process.info["cmdline"] or ())
        if str(folder) in words and process.info["status"] != psutil.STATUS_ZOMBIE:
            return True
    return False


def test_a_ray_that_was_there_before_is_left_running(ray_place: Path, tmp_path: Path) -> None:
    import ray

    ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        make_launcher("ray", tmp_path).close()
        assert ray.is_initialized()
    finally:
        ray.shutdown()


def test_gpus_that_ray_does_not_have_are_reported(ray_place: Path, tmp_path: Path, capsys) -> None:
    make_launcher("ray", tmp_path, gpus=99).close()
    assert "--gpus 99: Ray has" in capsys.readouterr().err


@pytest.mark.parametrize("on", ["ray", "slurm"])
def test_a_missing_library_is_named_with_its_extra(
    on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launchers, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=rf"--on {on} needs .*: pip install 'clusterns\[{on}\]'"):
        make_launcher(on, tmp_path)


def test_a_missing_slurm_and_unknown_parameters_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("submitit", reason=NO_SUBMITIT)
    if shutil.which("srun") is None:
        with pytest.raises(UserError, match="--on slurm: .*srun"):
            make_launcher("slurm", tmp_path)
    with pytest.raises(UserError, match="--on slurm: .*no_such"):
        OnSlurm(str(tmp_path), parameters={"no_such": 1}, cluster="local")


def test_the_libraries_that_are_imported_once_exist() -> None:
    """An import that fails there would only cost time, so nobody would see it."""
    assert all(find_spec(name) is not None for name in launchers.LIBRARIES)


def test_a_user_s_script_is_not_run_again_by_its_programs(tmp_path: Path) -> None:
    """Without the guard that multiprocessing asks for."""
    script = tmp_path / "mine.py"
    script.write_text(
        "import pathlib\n"
        "with open('runs', 'a') as file: file.write('x')\n"
        "from clusterns.lab.launchers import OnThisMachine\n"
        "from clusterns.lab.program import Program\n"
        "launcher = OnThisMachine()\n"
        "code = launcher.run(Program(('recipes',), 'log.txt'))\n"
        "launcher.close()\n"
        "pathlib.Path('code').write_text(str(code))\n"
    )
    subprocess.run([sys.executable, str(script)], cwd=tmp_path, check=True)
    assert (tmp_path / "code").read_text() == "0"
    assert (tmp_path / "runs").read_text() == "x"
    assert "clusterns-bert-base" in (tmp_path / "log.txt").read_text()


def test_secrets_stay_in_this_machine_s_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker of this machine inherits them; no other machine, command line or file gets them."""
    secret = f"hunter{time.monotonic_ns()}"
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY"):
        monkeypatch.setenv(name, secret)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    program = Program(("recipes",), str(tmp_path / "log.txt"))
    assert named_variables()["HF_HOME"] == str(tmp_path)
    assert secret.encode() not in pickle.dumps((program, named_variables()))
    launcher = OnThisMachine()
    shown: list[str] = []
    watcher = threading.Thread(
        target=lambda: shown.extend(
            word for each in psutil.process_iter(["cmdline"]) for word in each.info["cmdline"] or ()
        )
    )
    watcher.start()
    assert launcher.run(program) == 0
    watcher.join()
    launcher.close()
    assert shown
    assert not any(secret in word for word in shown)
    pytest.importorskip("submitit", reason=NO_SUBMITIT)
    slurm = OnSlurm(str(tmp_path / "submitit"), cluster="local")
    assert slurm.run(program) == 0
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert any(file.suffix == ".pkl" for file in files)
    assert not any(secret.encode() in file.read_bytes() for file in files)
