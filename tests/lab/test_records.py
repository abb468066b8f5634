"""Records: what is shown of one is what is shown of the trials."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from clusterns.errors import UserError
from clusterns.lab.compare import find_differences
from clusterns.lab.experiment import Experiment
from clusterns.lab.figures import draw
from clusterns.lab.outcomes import Line, Outcome
from clusterns.lab.records import Record, keep_record, without_folders
from clusterns.lab.tables import differences_table, scores_table

EXPERIMENT = Experiment.model_validate(
    {
        "title": "T", "rows": {"A": {"settings": {"clusters": "1e1"}}, "B": {}},
        "grid": {"sigma": [0.2, 0.4]}, "table": {"columns": {"dev": "dev"}},
        "compare": {"primary": [["A, sigma 0.2", "B, sigma 0.2"]]},
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
        Line("B, sigma 0.2", "B", {"sigma": 0.2}, outcomes=[outcome]),
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
    shown = []
    for number, one in enumerate((record, read)):
        tables = [
            scores_table(one.experiment, one.lines),
            differences_table(one.experiment, find_differences(one.experiment, one.lines)),
        ]
        (figure, _) = draw("f", one.experiment, one.lines, tmp_path / str(number))
        shown.append([*(table.markdown() for table in tables), figure.read_bytes()])
    assert shown[0] == shown[1]
    assert "A, sigma 0.2, seed 2: missing, the disk is full." in shown[1][0]
    assert Record.read(read.write(tmp_path / "again")) == read


def test_pairs_and_families_of_earlier_records_are_read(tmp_path: Path) -> None:
    path = make(tmp_path).write(tmp_path)
    head, *trials = path.read_text("utf-8").splitlines()
    early = json.loads(head)
    pairs = early["experiment"]["compare"]["primary"]
    early["experiment"]["compare"] = pairs
    for families, names in ((None, [""]), ([{"name": "primary", "compare": pairs}], ["primary"])):
        known = early | ({} if families is None else {"families": families})
        path.write_text("\n".join([json.dumps(known), *trials]))
        assert [*Record.read(path).experiment.compare] == names
        assert Record.read(path).experiment.pairs() == EXPERIMENT.pairs()


def test_paths_lose_their_folders_wherever_they_are() -> None:
    said = {"why": ["cannot read /home/me/a.txt: no such file", "/home/me/b", "'/c/d e'"]}
    assert without_folders(said) == {"why": ["cannot read a.txt: no such file", "b", "'d e'"]}
    for text in ("sts/Avg.", "owner/name:config", "a/b c/d", "2/2^n", "a / b", "/", ""):
        assert without_folders(text) == text
    rows = {"rows": {"A": {"settings": {"base": "/home/me/base"}}}}
    assert without_folders(rows) == {"rows": {"A": {"settings": {"base": "base"}}}}


@pytest.mark.parametrize("label", ["SimCSE / crops", "a /b/ c", "/x/y"])
def test_names_of_rows_and_families_may_look_like_paths(label: str, tmp_path: Path) -> None:
    values = {
        "title": "T", "rows": {label: {}, "B": {}}, "compare": {"a /b/ c": [[label, "B"]]},
        "table": {"columns": {"dev": "dev"}},
        "figures": {"f": {"kind": "curves", "values": ["loss"], "rows": [label]}},
    }  # fmt: skip
    experiment = Experiment.model_validate(values)
    result = {"values": {"dev": 1.0}, "suites": {}, "record": {}}
    lines = [Line(label, label, outcomes=[Outcome(1, result, {})]), Line("B", "B")]
    read = Record.read(Record("mine", "small", experiment, lines).write(tmp_path))
    assert read.experiment == experiment
    assert [line.label for line in read.lines] == [label, "B"]
    assert read.lines[0].values("dev") == {1: 1.0}


def test_a_record_is_not_replaced_by_one_with_fewer_trials(tmp_path: Path) -> None:
    record = make(tmp_path)
    path = keep_record(record, tmp_path)
    assert keep_record(record, tmp_path) == path
    fewer = replace(record, lines=[replace(line, outcomes=[]) for line in record.lines])
    with pytest.raises(UserError, match="has more trials of A, sigma 0.2, B, sigma 0.2"):
        keep_record(fewer, tmp_path)
    keep_record(fewer, tmp_path / "other")
    assert keep_record(record, tmp_path / "other").is_file()


@pytest.mark.parametrize("text", ["", "{}", "no json"])
def test_what_is_no_record_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text(text)
    with pytest.raises(UserError, match="is not a record of an experiment"):
        Record.read(tmp_path / "mine.jsonl")
