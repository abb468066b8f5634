"""Programs on a real Ray and on submitit's local executor: exit codes, lost ones, killed labs."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from clusterns.errors import UserError
from clusterns.lab.cells import cells_of
from clusterns.lab.engines import engine as module
from clusterns.lab.engines.driver import Driver, Task
from clusterns.lab.engines.engine import Engine, make_engine
from clusterns.lab.engines.program import Program
from clusterns.lab.load import load_experiment
from clusterns.lab.run import run_cells
from tests.lab.small_lab import command, fill, scores, write

CHECKPOINT = "cells/*/run/checkpoints/checkpoint-2/trainer_state.json"


@pytest.fixture(params=["ray", "slurm"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    if request.param == "ray":
        request.getfixturevalue("ray_place")
        found = make_engine("ray", tmp_path)
    else:
        pytest.importorskip("submitit", reason="needs submitit: pip install 'clusterns[slurm]'")
        from clusterns.lab.engines.on_slurm import OnSlurm

        found = OnSlurm(str(tmp_path / "engine"), cluster="local")
    yield found
    found.close()


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    return write(fill(tmp_path_factory.mktemp("engines")), tiny_bert)


@pytest.fixture(scope="module")
def expected(experiment: Path) -> dict[str, dict[str, float]]:
    """The scores of a lab that nothing happened to, by processes of this machine."""
    output = experiment.parent / "whole"
    subprocess.run(command("run", experiment, "--output", output), check=True)
    assert len(scores(output)) == 2
    return scores(output)


def until(condition: Callable[[], object], seconds: float = 180) -> None:
    end = time.time() + seconds
    while not condition():
        assert time.time() < end
        time.sleep(0.02)


def kill_a_worker(output: Path, by: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to the process that holds the lock of a cell with a checkpoint."""
    until(lambda: list(output.glob(CHECKPOINT)))
    cell = next(iter(output.glob(CHECKPOINT))).parents[3]
    words = cell.with_name(f".{cell.name}.lock").read_text("utf-8").split()
    os.kill(int(words[1]), by)


def test_a_program_works_or_fails_with_its_reason(engine: Engine, tmp_path: Path) -> None:
    good = Program(("recipes", "default"), str(tmp_path / "good.txt"))
    bad = Program(("lab", "cell", str(tmp_path / "none")), str(tmp_path / "bad.txt"))
    failed = Driver(engine, 1).run(
        [
            Task("good", good, lambda: "batch_size" in (tmp_path / "good.txt").read_text()),
            Task("bad", bad, lambda: False),
        ]
    )
    assert list(failed) == ["bad"]
    assert "is no cell of a lab" in failed["bad"]


def test_the_cell_of_a_killed_worker_is_handed_out_again_and_has_the_same_scores(
    engine: Engine, experiment: Path, expected: dict[str, dict[str, float]], tmp_path: Path, capsys
) -> None:
    output = tmp_path / "lab"
    killer = threading.Thread(target=kill_a_worker, args=(output,))
    killer.start()
    failed = run_cells(cells_of(load_experiment(str(experiment)), output, "small"), engine, 2)
    killer.join()
    assert failed == {}
    assert "was lost (exit code -1): handed out again" in capsys.readouterr().err
    assert scores(output) == expected
    results = [json.loads(file.read_text()) for file in output.glob("cells/*/result.json")]
    assert any(result["resumed"] for result in results)


def test_a_job_whose_time_runs_out_saves_itself_and_is_handed_out_again(
    experiment: Path, expected: dict[str, dict[str, float]], tmp_path: Path, capsys
) -> None:
    pytest.importorskip("submitit", reason="needs submitit: pip install 'clusterns[slurm]'")
    from clusterns.lab.engines.on_slurm import OnSlurm

    engine, output = OnSlurm(str(tmp_path / "engine"), cluster="local"), tmp_path / "lab"
    warner = threading.Thread(target=kill_a_worker, args=(output, signal.SIGUSR2))  # as Slurm does
    warner.start()
    failed = run_cells(cells_of(load_experiment(str(experiment)), output, "small"), engine, 2)
    warner.join()
    engine.close()
    assert failed == {}
    assert re.search(r"was lost \(exit code 1(30|43)\): handed out again", capsys.readouterr().err)
    assert scores(output) == expected
    results = [json.loads(file.read_text()) for file in output.glob("cells/*/result.json")]
    assert any(result["resumed"] for result in results)


def test_a_lab_killed_and_continued_on_two_ray_workers_has_the_same_scores(
    ray_place: Path, experiment: Path, expected: dict[str, dict[str, float]], tmp_path: Path
) -> None:
    output = tmp_path / "lab"
    run = command("run", experiment, "--output", output, "--on", "ray", "--workers", 2)
    lab = subprocess.Popen(run)
    until(lambda: list(output.glob(CHECKPOINT)) or lab.poll() is not None)
    lab.kill()
    lab.wait()
    assert len(scores(output)) < 2
    until(lambda: not ray_processes(ray_place))  # Ray on this machine ends with its driver
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 cells have a result" in done.stdout
    assert scores(output) == expected


def ray_processes(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = " ".join(process.info["cmdline"] or ())
        if str(folder) in words and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def test_gpus_that_ray_has_not_are_said(ray_place: Path, tmp_path: Path, capsys) -> None:
    make_engine("ray", tmp_path, gpus=99).close()
    assert "--gpus 99: Ray has" in capsys.readouterr().err


@pytest.mark.parametrize("on", ["ray", "slurm"])
def test_an_engine_that_is_not_installed_is_named_with_its_extra(
    on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=rf"--on {on} needs .*: pip install 'clusterns\[{on}\]'"):
        make_engine(on, tmp_path)


def test_slurm_that_is_not_here_and_parameters_that_there_are_not(tmp_path: Path) -> None:
    pytest.importorskip("submitit", reason="needs submitit: pip install 'clusterns[slurm]'")
    if shutil.which("srun") is None:
        with pytest.raises(UserError, match="--on slurm: .*srun"):
            make_engine("slurm", tmp_path)
    from clusterns.lab.engines.on_slurm import OnSlurm

    with pytest.raises(UserError, match="--on slurm: .*no_such"):
        OnSlurm(str(tmp_path), parameters={"no_such": 1}, cluster="local")
