"""The driver: so many at a time, lost ones again, failed ones named; and real processes under it."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from clusterns.lab.engines import driver as module
from clusterns.lab.engines.driver import Driver, Task, duration
from clusterns.lab.engines.local import Local
from clusterns.lab.engines.program import Program, as_text, named_variables
from clusterns.lab.run import summary
from clusterns.locks import is_free


@dataclass
class Scripted:
    """An engine whose programs end with given exit codes, each after being asked once."""

    codes: dict[str, list[int]]
    running: set[str] = field(default_factory=set)
    most: int = 0
    starts: list[str] = field(default_factory=list)
    done: set[str] = field(default_factory=set)

    def start(self, program: Program) -> object:
        name = program.arguments[0]
        self.starts.append(name)
        self.running.add(name)
        self.most = max(self.most, len(self.running))
        engine, asked = self, []

        class Started:
            def exit_code(self) -> int | None:
                if not asked:
                    asked.append(1)
                    return None
                engine.running.discard(name)
                code = engine.codes[name].pop(0)
                if code == 0:
                    engine.done.add(name)
                return code

        return Started()

    def task(self, name: str, log: Path) -> Task:
        return Task(name, Program((name,), str(log)), lambda: name in self.done)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(module, "INTERVAL", 0.01)


def run(codes: dict[str, list[int]], tmp_path: Path, workers: int = 2):
    engine = Scripted({name: list(each) for name, each in codes.items()})
    log = tmp_path / "log.txt"
    log.write_text("some words\nerror: no such thing\n")
    failed = Driver(engine, workers).run([engine.task(name, log) for name in codes])  # type: ignore[arg-type]
    return engine, failed


def test_no_more_at_a_time_than_workers(tmp_path):
    engine, failed = run({name: [0] for name in "abcdefg"}, tmp_path, workers=3)
    assert failed == {}
    assert engine.most == 3
    assert engine.starts == list("abcdefg")


def test_what_is_lost_is_handed_out_again_a_bounded_number_of_times(tmp_path):
    engine, failed = run({"a": [-9, -9, 0], "b": [-9, -9, -9, 0], "c": [130, 0]}, tmp_path)
    assert engine.starts.count("a") == 3
    assert engine.starts.count("b") == 3
    assert engine.starts.count("c") == 2
    assert failed == {"b": "lost 3 times, the last time with exit code -9"}


def test_what_fails_does_not_stop_the_others_and_is_not_tried_again(tmp_path):
    engine, failed = run({"a": [2], "b": [0], "c": [1]}, tmp_path, workers=1)
    assert failed == {"a": "no such thing", "c": "no such thing"}
    assert engine.starts == ["a", "b", "c"]


def test_without_a_way_to_see_it_a_task_is_done_with_exit_code_0(tmp_path):
    engine = Scripted({"a": [0], "b": [-9, 0], "c": [1]})
    log = tmp_path / "log.txt"
    log.write_text("error: no such thing\n")
    tasks = [Task(name, Program((name,), str(log))) for name in "abc"]
    assert Driver(engine, 2).run(tasks) == {"c": "no such thing"}  # type: ignore[arg-type]
    assert engine.starts == ["a", "b", "c", "b"]


def test_the_time_left_is_the_finished_ones_mean(tmp_path, monkeypatch):
    monkeypatch.setattr(module.time, "time", lambda: 1000.0)
    driver = Driver(Scripted({}), 2, _seconds=[60.0, 180.0])  # type: ignore[arg-type]
    running = [module._Running(None, None, 970.0), module._Running(None, None, 0.0)]  # type: ignore[arg-type]
    # Three whole ones of 120 s, 90 s of one, and one that is late: 450 s by two workers.
    assert driver._left(3, running) == "about 4 min left"
    assert [duration(s) for s in (59.6, 600, 7200)] == ["60 s", "10 min", "2.0 h"]


def test_a_result_in_a_few_words():
    values = {"dev": 48.12, "sts/Avg.": 36.78, "sts/STS12": 1.0}
    result = {"metric": "STS-B_spearman", "values": values, "processor_seconds": 164.2}
    assert summary(result) == "STS-B dev 48.1, sts/Avg. 36.8; 3 min of processor"
    result |= {"metric": "pairs_spearman", "values": {"dev": 48.12}}
    assert summary(result) == "pairs_spearman 48.1; 3 min of processor"


def test_a_process_says_why_it_failed_and_one_that_works_leaves_its_words(tmp_path):
    engine = Local()
    good = Program(("recipes", "default"), str(tmp_path / "good.txt"))
    bad = Program(("lab", "cell", str(tmp_path / "none")), str(tmp_path / "bad.txt"))
    failed = Driver(engine, 2).run(
        [
            Task("good", good, lambda: "batch_size" in (tmp_path / "good.txt").read_text()),
            Task("bad", bad, lambda: False),
        ]
    )
    assert list(failed) == ["bad"]
    assert "is no cell of a lab" in failed["bad"]
    engine.close()


def test_a_killed_process_is_lost(tmp_path, monkeypatch):
    program = Program(("recipes",), str(tmp_path / "log.txt"))
    started = Local().start(program)
    os.kill(started.process_id, signal.SIGKILL)
    while started.exit_code() is None:
        time.sleep(0.01)
    assert started.exit_code() == -signal.SIGKILL


def test_processes_end_with_a_driver_that_is_killed(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import os, pathlib, time\n"
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()))\n"
        "time.sleep(600)\n"
    )
    code = (
        "import sys, time, json, runpy\n"
        "from clusterns.lab.engines import program\n"
        f"program.runpy.run_module = lambda *a, **k: runpy.run_path({str(tmp_path / 'slow.py')!r})\n"
        "program.main()\n"
    )
    (tmp_path / "child.py").write_text(code)
    values = {
        "arguments": [],
        "log": str(tmp_path / "log.txt"),
        "folder": str(tmp_path),
    }
    driver = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, {str(tmp_path / 'child.py')!r}, {json.dumps(values)!r}], "
        "stdin=subprocess.PIPE)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", driver])
    pid_file = tmp_path / "pid"
    while not (pid_file.exists() and pid_file.read_text()):
        time.sleep(0.05)
    child = int(pid_file.read_text())
    parent.kill()
    parent.wait()
    until = time.time() + 60
    while _runs(child) and time.time() < until:
        time.sleep(0.05)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    """Whether a process is there and not a mere entry of the dead."""
    import psutil

    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_task_that_another_process_has_is_waited_for_and_holds_no_place(tmp_path):
    engine = Scripted({"taken": [0], "free": [0]})
    order = []
    taken = replace(
        engine.task("taken", tmp_path / "log"), is_free=lambda: "free" in engine.done,
        told=lambda: order.append("taken") or "done",
    )  # fmt: skip
    free = replace(
        engine.task("free", tmp_path / "log"), told=lambda: order.append("free") or "done"
    )
    assert Driver(engine, 1).run([taken, free]) == {}
    assert order == ["free", "taken"]


def test_a_folder_in_use_by_another_process_is_not_free(tmp_path):
    assert is_free(tmp_path / "cell")
    code = (
        "import sys, pathlib\nfrom clusterns.locks import locked\n"
        f"with locked(pathlib.Path({str(tmp_path / 'cell')!r})):\n    print('held', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout.readline() == b"held\n"
    assert not is_free(tmp_path / "cell")
    other.communicate()
    assert is_free(tmp_path / "cell")


def test_secrets_stay_in_this_machine_s_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hunter2")
    monkeypatch.setenv("WANDB_API_KEY", "hunter2")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert named_variables()["HF_HOME"] == str(tmp_path)
    sent = pickle.dumps((Program(("recipes",), str(tmp_path / "log")), named_variables()))
    assert b"hunter2" not in sent
    assert "hunter2" not in as_text(Program(("recipes",), str(tmp_path / "log")))
    # A worker on this machine inherits the environment, and no command line shows it.
    started: dict[str, object] = {}
    monkeypatch.setattr(
        "subprocess.Popen", lambda command, **more: started.update(command=command, **more)
    )
    Local().start(Program(("recipes",), str(tmp_path / "log")))
    assert started["env"]["HF_TOKEN"] == "hunter2"
    assert "hunter2" not in " ".join(started["command"])
