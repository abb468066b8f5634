"""Records: what is drawn from one is what is drawn from the cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterns.errors import UserError
from clusterns.lab.differences import Difference
from clusterns.lab.experiment import Experiment
from clusterns.lab.figures import draw
from clusterns.lab.outcomes import Line, Outcome
from clusterns.lab.records import Record, without_folders
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
    difference = Difference("A, sigma 0.2", "B, sigma 0.2", 0.0, 1)
    return Record("mine", "small", EXPERIMENT, lines, [difference])


def test_the_same_tables_and_figures_and_no_paths(tmp_path: Path) -> None:
    record = make(tmp_path)
    path = record.write(tmp_path / "results")
    assert path.name == "mine.jsonl"
    assert str(tmp_path) not in path.read_text("utf-8")
    assert '"temperature": 0.05' in path.read_text("utf-8")
    read = Record.read(path)
    assert (read.name, read.budget, read.experiment) == ("mine", "small", EXPERIMENT)
    assert read.differences == record.differences
    tables = []
    for one in (record, read):
        lines = [Line(x.label, x.row, x.point, None, x.outcomes, x.missing) for x in one.lines]
        tables.append(
            scores_table(one.experiment, lines).markdown()
            + differences_table(one.experiment, one.differences).markdown()
        )
        draw("f", one.experiment.figures["f"], one.lines, tmp_path / str(len(tables)))
    assert tables[0] == tables[1]
    assert "Missing: A, sigma 0.2, seed 2: the disk is full." in tables[1]
    first, second = ((tmp_path / n / "f.svg").read_bytes() for n in ("1", "2"))
    assert first == second
    assert read.lines[1].paper_row == "SimCSE-BERT-base"
    again = read.write(tmp_path / "again")
    assert Record.read(again) == Record.read(path)


def test_paths_lose_their_folders_wherever_they_stand() -> None:
    said = {"why": ["cannot read /home/me/a.txt: no such file", "/home/me/b", "'/c/d e'"]}
    assert without_folders(said) == {"why": ["cannot read a.txt: no such file", "b", "'d e'"]}
    for text in ("sts/Avg.", "owner/name:config", "a/b c/d", "2/2^n", "a / b", "/", ""):
        assert without_folders(text) == text


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    for text in ("", "{}", "no json"):
        file.write_text(text)
        with pytest.raises(UserError, match="is not a record of an experiment"):
            Record.read(file)
