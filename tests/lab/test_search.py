"""A search: resumable, shared, and fair to every method."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clusterns.errors import UserError
from clusterns.files import write_json
from clusterns.lab.search import Range, Search, space_of
from clusterns.lab.trial import Trial
from clusterns.methods.registry import get_method, method_names
from clusterns.training.recipe import load_recipe
from tests.helpers.commands import start_cli
from tests.lab.small_lab import fill, lab

pytest.importorskip("optuna", reason="needs Optuna: pip install 'clusterns[search]'")

SPACE: dict[str, Any] = {"sigma": Range(low=0.0, high=1.0), "clusters": [4, 8]}
FIRST = {"sigma": 0.4, "clusters": 4}


class Killed(BaseException):
    """As a kill would be: nothing is told to anyone."""


def make(folder: Path, tried: list[dict[str, Any]], die_at: int | None = None) -> Search:
    """A search of the sigma nearest to 0.7, which breaks at 8 clusters and sigma above 0.9."""

    def trial_of(values: Mapping[str, Any]) -> Trial:
        name = f"{values['sigma']}-{values['clusters']}"
        return Trial(
            "x", 0, "default", dict(values), "text", (), 1, folder / "cells" / name, identity={}
        )

    def run(trial: Trial) -> str | None:
        tried.append(dict(trial.changes))
        if die_at is not None and len(tried) == die_at:
            raise Killed
        if trial.changes["clusters"] == 8:
            return "eight is too many"
        value = -abs(trial.changes["sigma"] - 0.7)
        result = {"metric": "dev", "suites": {}, "values": {"dev": value}}
        write_json(trial.folder / "result.json", result)
        return None

    return Search(folder, SPACE, FIRST, trial_of, run, {"method": "x"})


def test_the_recipe_comes_first_and_all_is_on_record(tmp_path: Path) -> None:
    tried: list[dict[str, Any]] = []
    record = make(tmp_path, tried).run(6)
    assert tried[0] == FIRST
    assert len(tried) == len(record["trials"]) == 6
    written = json.loads((tmp_path / "record.json").read_text())
    written["record"]["date"] = record["record"]["date"]  # a second may pass between the two
    assert record == written
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


def test_a_killed_trial_does_not_count_and_runs_again(tmp_path: Path) -> None:
    tried: list[dict[str, Any]] = []
    with pytest.raises(Killed):
        make(tmp_path, tried, die_at=2).run(4)
    known = json.loads((tmp_path / "record.json").read_text())["trials"]
    assert [(one["number"], one["reason"]) for one in known] == [(0, None), (1, None)]
    assert known[1]["value"] is None
    record = make(tmp_path, tried).run(4)
    assert tried[2] == tried[1]
    assert [one["number"] for one in record["trials"]] == [0, 1, 2, 3]


def test_a_trial_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    tried: list[dict[str, Any]] = []
    search = make(tmp_path, tried)
    with search._open() as known:
        elsewhere, lock = search._next(known, 3)
    assert elsewhere["number"] == 0
    record = search.run(3)
    assert [one["number"] for one in record["trials"]] == [1, 2]
    lock.release()
    assert len(search.run(3)["trials"]) == len(tried) == 3


def test_a_search_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    """Its record lacks the numbers of killed trials."""
    trials = [
        {"number": n, "value": v, "settings": {"sigma": s, "clusters": 4}, "reason": None}
        for n, v, s in ((0, -0.3, 0.4), (2, -0.1, 0.6))
    ]
    write_json(tmp_path / "record.json", {"method": "x", "trials": trials, "best": 2})
    record = make(tmp_path, []).run(4)
    assert record["trials"][:2] == trials
    assert [one["number"] for one in record["trials"]] == [0, 2, 3, 4]


def test_every_trained_method_has_a_space_with_the_recipe_in_it() -> None:
    for name in set(method_names()) - {"glove"}:
        recipe = load_recipe("default", {"method": name})
        if not get_method(name).trains:
            with pytest.raises(UserError, match="is not trained"):
                space_of(recipe)
            continue
        space = space_of(recipe)
        assert "learning_rate" in space
        assert ("clusters" in space) == (name == "clusterns")
        for key, values in space.items():
            own = getattr(recipe, key)
            is_range = isinstance(values, Range)
            assert values.low <= own <= values.high if is_range else own in values, (name, key)


def test_a_search_killed_and_continued_on_the_command_line(tmp_path: Path, tiny_bert: Path) -> None:
    fill(tmp_path)
    settings = {
        "max_steps": 8, "eval_steps": 2, "log_steps": 1, "batch_size": 8, "heldout": 20,
        "dev": tmp_path / "pairs.csv",
    }  # fmt: skip
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    run = [
        "search", "simcse", "--trials", 2, "--base", tiny_bert, "--lab", tmp_path / "lab",
        "--corpus", tmp_path / "corpus.txt", *options,
    ]  # fmt: skip
    search = start_cli("lab", *run, daemon=False)
    while not list(tmp_path.glob("lab/cells/*/run/checkpoints/checkpoint-2/trainer_state.json")):
        assert search.poll() is None
        time.sleep(0.02)
    search.kill()
    search.wait()
    done = lab(*run)
    assert done.code == 0, done.err
    assert "best of 2 trials: " in done.out
    assert "with the unchanged recipe)" in done.out
    assert "--set learning_rate=" in done.out
    (file,) = tmp_path.glob("lab/search/simcse-0-*/record.json")
    record = json.loads(file.read_text("utf-8"))
    assert record["settings"]["seed"] == 0
    assert [one["number"] for one in record["trials"]] == [0, 1]
    results = [json.loads(f.read_text()) for f in tmp_path.glob("lab/cells/*/result.json")]
    assert sorted(one["values"]["dev"] for one in results) == sorted(
        one["value"] for one in record["trials"]
    )
    assert sorted(one["resumed"] for one in results) == [False, True]
