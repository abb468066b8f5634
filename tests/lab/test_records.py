"""Records: what is drawn from one is what is drawn from the cells."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from clusterns.errors import UserError
from clusterns.lab.compare import find_differences
from clusterns.lab.experiment import Experiment, load_experiment
from clusterns.lab.figures import draw
from clusterns.lab.outcomes import Line, Outcome
from clusterns.lab.records import Record, keep_record, without_folders
from clusterns.lab.tables import differences_table, scores_table

EXPERIMENT = Experiment.model_validate(
    {
        "title": "T", "rows": {"A": {"settings": {"clusters": "1e1"}}, "B": {}},
        "grid": {"sigma": [0.2, 0.4]}, "compare": [["A, sigma 0.2", "B, sigma 0.2"]],
        "table": {"columns": {"dev": "dev"}},
        "figures": {"f": {"kind": "curves", "values": ["loss"]}},
    }
)  # fmt: skip


def make(folder: Path) -> Record:
    result = {
        "corpus": f"{folder}/text.txt", "record": {"command": ["clusterns", f"{folder}/cell"]},
        "values": {"dev": 50.0}, "processor_seconds": 3.0, "suites": {},
        "resolved": {"base": f"{folder}/base", "temperature": 0.05},
    }  # fmt: skip
    outcome = Outcome(1, result, {"loss": [(5, 1.5), (10, 1.0)]})
    lines = [
        Line("A, sigma 0.2", "A", {"sigma": 0.2}, outcomes=[outcome], missing={2: "the disk is full"}),
        Line("B, sigma 0.2", "B", {"sigma": 0.2}, "SimCSE-BERT-base", outcomes=[outcome]),
    ]  # fmt: skip
    return Record("mine", "small", EXPERIMENT, lines)


def test_the_same_tables_and_figures_and_no_paths(tmp_path: Path) -> None:
    record = make(tmp_path)
    path = record.write(tmp_path / "results")
    assert path.name == "mine.jsonl"
    assert str(tmp_path) not in path.read_text("utf-8")
    assert '"temperature": 0.05' in path.read_text("utf-8")
    read = Record.read(path)
    assert (read.name, read.budget, read.experiment) == ("mine", "small", EXPERIMENT)
    tables = []
    for one in (record, read):
        lines = [Line(x.label, x.row, x.point, None, x.outcomes, x.missing) for x in one.lines]
        tables.append(
            scores_table(one.experiment, lines).markdown()
            + differences_table(one.experiment, find_differences(one.experiment, lines)).markdown()
        )
        draw("f", one.experiment.figures["f"], one.lines, tmp_path / str(len(tables)))
    assert tables[0] == tables[1]
    assert "A, sigma 0.2, seed 2: missing, the disk is full." in tables[1]
    first, second = ((tmp_path / n / "f.svg").read_bytes() for n in ("1", "2"))
    assert first == second
    assert read.lines[1].paper_row == "SimCSE-BERT-base"
    again = read.write(tmp_path / "again")
    assert Record.read(again) == Record.read(path)


def test_paths_lose_their_folders_wherever_they_are() -> None:
    said = {"why": ["cannot read /home/me/a.txt: no such file", "/home/me/b", "'/c/d e'"]}
    assert without_folders(said) == {"why": ["cannot read a.txt: no such file", "b", "'d e'"]}
    for text in ("sts/Avg.", "owner/name:config", "a/b c/d", "2/2^n", "a / b", "/", ""):
        assert without_folders(text) == text
    rows = {"rows": {"A": {"settings": {"base": "/home/me/base"}}}}
    assert without_folders(rows) == {"rows": {"A": {"settings": {"base": "base"}}}}


@pytest.mark.parametrize("label", ["SimCSE / crops", "a /b/ c", "/x/y"])
def test_names_of_rows_may_look_like_paths(label: str, tmp_path: Path) -> None:
    values = {
        "title": "T", "rows": {label: {}, "B": {}}, "compare": {"a /b/ c": [[label, "B"]]},
        "table": {"columns": {"dev": "dev"}},
        "figures": {"f": {"kind": "curves", "values": ["loss"], "rows": [label]}},
    }  # fmt: skip
    experiment = Experiment.model_validate(values)
    result = {"values": {"dev": 1.0}, "suites": {}, "record": {}}
    lines = [Line(label, label, outcomes=[Outcome(1, result, {})]), Line("B", "B")]
    record = Record("mine", "small", experiment, lines)
    read = Record.read(record.write(tmp_path))
    assert read.experiment == experiment
    assert [line.label for line in read.lines] == [label, "B"]
    assert read.lines[0].values("dev") == {1: 1.0}


def test_an_earlier_version_reads_a_record_of_today(tmp_path: Path) -> None:
    """It knows lists of pairs, `beside` and `once`, and refuses keys that it does not know."""
    values = EXPERIMENT.model_dump(by_alias=True) | {"compare": {"primary": EXPERIMENT.pairs()}}
    record = replace(make(tmp_path), experiment=Experiment.model_validate(values))
    path = record.write(tmp_path)
    head = json.loads(path.read_text("utf-8").splitlines()[0])
    assert head["experiment"]["compare"] == [["A, sigma 0.2", "B, sigma 0.2"]]
    row = {"settings", "small", "raw", "paper", "beside", "seeds", "once"}
    assert head["experiment"]["rows"]["A"].keys() == row
    assert {"label", "row", "point", "beside", "missing"} == set(head["lines"][0])
    assert head["differences"] == []
    assert head["cells"] == 2
    assert Record.read(path).experiment.compare.keys() == {"primary"}


def test_a_record_of_an_earlier_version_has_the_families_of_the_design(tmp_path: Path) -> None:
    today = load_experiment("claims")
    early = today.model_dump(mode="json", by_alias=True) | {"compare": today.pairs()}
    early["rows"] = {name: {**row, "beside": None} for name, row in early["rows"].items()}
    early["table"] = {"suite": "sts"}
    lines = [
        {"label": label, "row": label, "point": {}, "beside": None, "missing": {}}
        for label in today.rows
    ]
    head = {"budget": "raw", "experiment": early, "lines": lines, "differences": [], "cells": 0}
    (tmp_path / "claims.jsonl").write_text(json.dumps(head), "utf-8")
    read = Record.read(tmp_path / "claims.jsonl")
    assert {name: len(pairs) for name, pairs in read.experiment.compare.items()} == {
        "primary": 2, "secondary": 6,
    }  # fmt: skip
    assert {line.label: line.paper_row for line in read.lines}["SimCSE"] == "SimCSE"


def test_a_record_is_not_replaced_by_one_with_fewer_trials(tmp_path: Path) -> None:
    record = make(tmp_path)
    path = keep_record(record, tmp_path)
    assert keep_record(record, tmp_path) == path
    fewer = replace(record, lines=[replace(line, outcomes=[]) for line in record.lines])
    with pytest.raises(UserError, match="has more trials of A, sigma 0.2, B, sigma 0.2"):
        keep_record(fewer, tmp_path)
    keep_record(fewer, tmp_path / "other")
    assert keep_record(record, tmp_path / "other").is_file()


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    for text in ("", "{}", "no json"):
        file.write_text(text)
        with pytest.raises(UserError, match="is not a record of an experiment"):
            Record.read(file)
