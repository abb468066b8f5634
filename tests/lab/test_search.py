"""A search: resumable, shared, and fair to every method."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clusterns.errors import UserError
from clusterns.files import write_json
from clusterns.lab.cells import Cell
from clusterns.methods.registry import get_method, method_names
from clusterns.training.recipe import load_recipe
from tests.lab.small_lab import command, fill

pytest.importorskip("optuna", reason="needs Optuna: pip install 'clusterns[search]'")

from optuna.trial import TrialState

from clusterns.lab.search.journal import JOURNAL, cut_unfinished_line, opened
from clusterns.lab.search.search import Search, finished
from clusterns.lab.search.space import Range, space_of

SPACE: dict[str, Any] = {"sigma": Range(low=0.0, high=1.0), "clusters": [4, 8]}
FIRST = {"sigma": 0.4, "clusters": 4}


class Killed(BaseException):
    """As a kill would be: nothing is told to anyone."""


def make(folder: Path, tried: list[dict[str, Any]], die_at: int | None = None) -> Search:
    """A search of the sigma nearest to 0.7, which breaks at 8 clusters and sigma above 0.9."""

    def cell_of(values: Mapping[str, Any]) -> Cell:
        name = f"{values['sigma']}-{values['clusters']}"
        return Cell("x", 0, "default", dict(values), "text", (), 1, folder / "cells" / name)

    def run(cell: Cell) -> str | None:
        tried.append(dict(cell.changes))
        if die_at is not None and len(tried) == die_at:
            raise Killed
        if cell.changes["clusters"] == 8:
            return "eight is too many"
        value = -abs(cell.changes["sigma"] - 0.7)
        result = {"metric": "dev", "suites": {}, "values": {"dev": value}}
        write_json(cell.folder / "result.json", result)
        return None

    return Search(folder, SPACE, FIRST, cell_of, run, {"method": "x"})


def test_the_recipe_comes_first_and_all_is_on_record(tmp_path: Path) -> None:
    tried: list[dict[str, Any]] = []
    record = make(tmp_path, tried).run(6)
    assert tried[0] == FIRST
    assert len(tried) == len(record["trials"]) == 6
    assert record == json.loads((tmp_path / "record.json").read_text())
    scored = [one for one in record["trials"] if one["value"] is not None]
    best = max(scored, key=lambda one: one["value"])
    assert record["best"] == best["number"]
    assert (record["method"], record["seed"]) == ("x", 0)
    for one in record["trials"]:
        too_many = one["settings"]["clusters"] == 8
        assert one["reason"] == ("eight is too many" if too_many else None)
    again = make(tmp_path, tried).run(6)
    assert len(tried) == len(again["trials"]) == 6


def test_a_search_that_goes_on_draws_new_values_as_one_that_was_never_stopped(
    tmp_path: Path,
) -> None:
    whole: list[dict[str, Any]] = []
    make(tmp_path / "whole", whole).run(6)
    parts: list[dict[str, Any]] = []
    make(tmp_path / "parts", parts).run(2)
    make(tmp_path / "parts", parts).run(6)
    assert parts == whole
    assert len({json.dumps(one) for one in parts}) == 6


def test_a_killed_trial_is_marked_failed_does_not_count_and_goes_on(tmp_path: Path) -> None:
    tried: list[dict[str, Any]] = []
    with pytest.raises(Killed):
        make(tmp_path, tried, die_at=2).run(4)
    journal = tmp_path / JOURNAL
    with journal.open("ab") as file:
        file.write(b'{"op_code": 4, "worker')  # a line that the kill cut short
    with opened(tmp_path) as study:
        assert [one.state for one in study.trials] == [TrialState.COMPLETE, TrialState.RUNNING]
    record = make(tmp_path, tried).run(4)
    assert tried[2] == tried[1]
    with opened(tmp_path) as study:
        assert study.trials[1].state == TrialState.FAIL
        assert len(finished(study)) == 4
    assert [one["number"] for one in record["trials"]] == [0, 2, 3, 4]


def test_a_trial_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    from clusterns.lab.search.journal import hold

    with opened(tmp_path) as study:
        study.ask()
        lock = hold(tmp_path, 0)
    assert lock is not None
    tried: list[dict[str, Any]] = []
    record = make(tmp_path, tried).run(3)
    assert len(record["trials"]) == len(tried) == 2  # the third one is under way elsewhere
    lock.release()
    assert len(make(tmp_path, tried).run(3)["trials"]) == 3


def test_only_an_unfinished_line_is_cut(tmp_path: Path) -> None:
    file = tmp_path / "j"
    cut_unfinished_line(file)
    for before, after in ((b"a\nb\n", b"a\nb\n"), (b"a\nb", b"a\n"), (b"a", b""), (b"", b"")):
        file.write_bytes(before)
        cut_unfinished_line(file)
        assert file.read_bytes() == after


def test_every_trained_method_has_a_space_with_the_recipe_in_it() -> None:
    for name in method_names():
        if name == "glove":
            continue
        recipe = load_recipe("default", {"method": name})
        if not get_method(name).trains:
            with pytest.raises(UserError, match="is not trained"):
                space_of(recipe)
            continue
        space = space_of(recipe)
        assert "learning_rate" in space
        for key, values in space.items():
            own = getattr(recipe, key)
            inside = (
                values.low <= own <= values.high if isinstance(values, Range) else own in values
            )
            assert inside, (name, key)
    assert "clusters" in space_of(load_recipe("default", {"method": "clusterns"}))
    assert "clusters" not in space_of(load_recipe("default", {"method": "simcse"}))


def test_a_search_killed_and_continued_on_the_command_line(tmp_path: Path, tiny_bert: Path) -> None:
    fill(tmp_path)
    settings = {
        "max_steps": 8, "eval_steps": 2, "log_steps": 1, "batch_size": 8, "heldout": 20,
        "dev": tmp_path / "pairs.csv",
    }  # fmt: skip
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    run = command(
        "search", "simcse", "--trials", 2, "--base", tiny_bert, "--lab", tmp_path / "lab",
        "--corpus", tmp_path / "corpus.txt", *options,
    )  # fmt: skip
    search = subprocess.Popen(run)
    while not list(tmp_path.glob("lab/cells/*/run/checkpoints/checkpoint-2/trainer_state.json")):
        assert search.poll() is None
        time.sleep(0.02)
    os.kill(search.pid, signal.SIGKILL)
    search.wait()
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "best of 2 trials: " in done.stdout
    assert "with the recipe as it is)" in done.stdout
    assert "--set learning_rate=" in done.stdout
    (file,) = tmp_path.glob("lab/search/simcse-0-*/record.json")
    record = json.loads(file.read_text("utf-8"))
    assert record["settings"]["seed"] == 0
    assert [one["number"] for one in record["trials"]] == [1, 2]
    results = [json.loads(f.read_text()) for f in tmp_path.glob("lab/cells/*/result.json")]
    assert sorted(one["values"]["dev"] for one in results) == sorted(
        one["value"] for one in record["trials"]
    )
    assert sorted(one["resumed"] for one in results) == [False, True]
