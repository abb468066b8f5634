"""docs/results.md is what its records say, and says what holds."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from clusterns.files import write_json
from clusterns.lab.differences import Difference
from clusterns.lab.experiment import load_experiment
from clusterns.lab.outcomes import Line, Outcome
from clusterns.lab.records import Record

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> Iterator[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        yield runpy.run_path(str(ROOT / "scripts" / "write_lab_results.py"))


def test_the_page_is_that_of_the_records(script: dict[str, Any], tmp_path: Path) -> None:
    script["write"](ROOT / "results" / "lab", tmp_path)
    page = ROOT / "docs" / "results.md"
    assert page.is_file() == (tmp_path / "results.md").is_file()
    if page.is_file():
        assert page.read_text("utf-8") == (tmp_path / "results.md").read_text("utf-8")
        names = {path.name for path in (tmp_path / "results").iterdir()}
        assert {path.name for path in (ROOT / "docs" / "results").iterdir()} == names
        # Another version of matplotlib draws the same otherwise.
        if f"matplotlib=={version('matplotlib')}" in (ROOT / "constraints.txt").read_text("utf-8"):
            for name in names:
                committed = (ROOT / "docs" / "results" / name).read_bytes()
                assert committed == (tmp_path / "results" / name).read_bytes(), name


def line(label: str, values: dict[int, float], beside: str) -> Line:
    outcomes = [
        Outcome(
            seed,
            {
                "values": {"sts/Avg.": value, "dev": value}, "processor_seconds": 60.0,
                "corpus": "text.txt", "base": "minibert 0a",
                "record": {
                    "versions": {"torch": "2", "sentence-transformers": "6"},
                    "command": ["clusterns", "lab", "cell", f"{beside.replace(' ', '-')}-{seed}-{0:010}"],
                },
            },
            {},
        )
        for seed, value in values.items()
    ]  # fmt: skip
    return Line(label, label, paper_row=beside, outcomes=outcomes)


def test_what_holds_is_said_with_the_papers_difference(
    script: dict[str, Any], tmp_path: Path
) -> None:
    lines = [
        line("ClusterNS", {1: 50.0, 2: 51.0, 3: 52.0}, "ClusterNS"),
        line("Without false negatives", {1: 49.0, 2: 50.0, 3: 51.0}, "without false negatives"),
        line("Without hard negatives", {1: 51.0, 2: 52.0, 3: 53.0}, "without hard negatives"),
        line("Harder negatives", {1: 49.0, 2: 52.0, 3: 52.0}, "harder negatives"),
        line("Random clusters", {1: 49.0, 2: 50.0, 3: 51.0}, "random clusters"),
        line("SimCSE", {1: 49.0, 2: 50.0}, "SimCSE"),
    ]
    few = Difference(
        "ClusterNS", "Without false negatives", 1.0, 3, adjusted_rows=0.02, seeds_rows=2
    )
    only = Record("ablations", "small", load_experiment("ablations"), lines, [few])
    assert script["judge"](only, few) == (3, "not shown")
    enough = replace(few, seeds_rows=3)
    assert script["judge"](only, enough) == (3, "in all seeds")
    assert script["judge"](only, replace(enough, adjusted_seeds=0.04)) == (3, "holds")
    other_way = replace(enough, points=-1.0, adjusted_seeds=0.04)
    assert script["judge"](only, other_way) == (3, "reversed")
    assert script["judge"](only, replace(other_way, adjusted_rows=0.06)) == (3, "not shown")
    rows = {
        "p_seeds": 0.5, "adjusted_seeds": 1.0, "low": 0.0, "high": 1.0, "rounds": 1000, "seeds_rows": 3,
    }  # fmt: skip
    differences = [
        Difference("ClusterNS", "Without false negatives", 1.0, 3, p_rows=0.01, adjusted_rows=0.02, **rows),
        Difference("ClusterNS", "Without hard negatives", -1.0, 3, p_rows=0.01, adjusted_rows=0.02, **rows),
        Difference("ClusterNS", "Harder negatives", 0.0, 3, p_rows=0.01, adjusted_rows=0.02, **rows),
        Difference("ClusterNS", "Random clusters", 1.0, 3, p_rows=0.03, adjusted_rows=0.06, **rows),
        Difference("ClusterNS", "SimCSE", 1.0, 2, p_rows=0.01, adjusted_rows=0.02, **rows),
    ]  # fmt: skip
    record = Record("ablations", "small", load_experiment("ablations"), lines, differences)
    record.write(tmp_path / "records")
    tried = [(0, 50.0, 0.05), (1, 52.346, 0.02), (2, None, 0.1)]
    write_json(
        tmp_path / "records" / "searches" / "simcse.json",
        {
            "method": "simcse", "best": 1, "base": "minibert 0a",
            "settings": {"batch_size": 64, "method": "simcse", "seed": 0, "positives": "crop"},
            "trials": [
                {"number": number, "value": value, "settings": {"temperature": temperature}}
                for number, value, temperature in tried
            ],
            "record": {"command": ["clusterns", "lab", "search", "simcse"]},
        },
    )  # fmt: skip
    (tmp_path / "docs").mkdir()
    script["write"](tmp_path / "records", tmp_path / "docs")
    page = (tmp_path / "docs" / "results.md").read_text("utf-8")
    where = "[ablations](#ablations) | minibert 0a"
    for claim in (
        f"| ClusterNS over Without false negatives | {where} | +0.56 | +1.00 | 3 of 3 | 0.020 | 1.000 | in all seeds |",
        f"| ClusterNS over Without hard negatives | {where} | +1.52 | -1.00 | 0 of 3 | 0.020 | 1.000 | in none |",
        f"| ClusterNS over Harder negatives | {where} | +0.58 | +0.00 | 1 of 3 | 0.020 | 1.000 | not shown |",
        f"| ClusterNS over Random clusters | {where} | +0.78 | +1.00 | 3 of 3 | 0.060 | 1.000 | not shown |",
        f"| ClusterNS over SimCSE | {where} | +1.30 | +1.00 | 2 of 2 | 0.020 | 1.000 | not shown |",
    ):
        assert claim in page
    assert (
        "| simcse | positives crop | 3 | 50.00 | 52.35 | 50.00 to 52.35 | temperature 0.02 |"
        in page
    )
    assert "*`clusterns lab search simcse`; base minibert 0a." in page
    assert "## ablations" in page
    assert (
        "17 cells, budget small, 17 min of processor time; base minibert 0a; text text.txt" in page
    )
    assert "![ClusterNS without each of its parts: ablations](results/ablations.svg)" in page
    assert (tmp_path / "docs" / "results" / "ablations.svg").is_file()


def test_claims_on_the_same_cells_are_named(script: dict[str, Any]) -> None:
    def record(name: str, first: str, second: str, values: dict[int, float]) -> Record:
        lines = [line(first, values, "ours"), line(second, values, "theirs")]
        claim = Difference(first, second, 1.0, len(values))
        return Record(name, "small", load_experiment("ablations"), lines, [claim])

    one, other = record("a", "A", "B", {1: 1.0, 2: 2.0}), record("b", "C", "D", {1: 1.0, 2: 2.0})
    assert "count once: A over B (a) and C over D (b)." in script["the_same"]([one, other])
    assert script["the_same"]([one, record("b", "C", "D", {1: 1.0})]) == ""


def test_a_search_whose_first_trial_was_killed_is_shown(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        searches = runpy.run_path(str(ROOT / "scripts" / "lab_findings.py"))["searches"]
    trials = [
        {"number": 0, "value": None, "settings": {"temperature": 0.05}},
        {"number": 1, "value": 50.0, "settings": {"temperature": 0.05}},
        {"number": 2, "value": 49.0, "settings": {"temperature": 0.1}},
    ]
    record = {
        "method": "simcse", "best": 1, "base": "minibert 0a", "settings": {}, "trials": trials,
        "record": {"command": ["clusterns"]},
    }  # fmt: skip
    write_json(tmp_path / "searches" / "simcse.json", record)
    assert "| simcse | - | 3 | 50.00 | 50.00 | 49.00 to 50.00 |" in searches(tmp_path, tmp_path)
    for one in trials[:2]:
        one["value"] = None
    write_json(tmp_path / "searches" / "simcse.json", {**record, "best": 2})
    assert "| simcse | - | 3 | - | 49.00 |" in searches(tmp_path, tmp_path)


def test_a_record_is_not_replaced_by_one_with_fewer_cells() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        lost = runpy.run_path(str(ROOT / "scripts" / "record_lab.py"))["lost"]
    experiment = load_experiment("ablations")
    whole = [line("A", {1: 1.0, 2: 2.0}, "a"), line("B", {1: 1.0}, "b"), line("C", {}, "c")]
    less = [line("A", {1: 1.0}, "a"), line("C", {1: 1.0}, "c")]
    kept, now = (Record("x", "small", experiment, lines, []) for lines in (whole, less))
    assert lost(kept, now) == ["A", "B"]
    assert lost(now, kept) == ["C"]
    assert lost(kept, kept) == []


def test_without_records_there_is_no_page(script: dict[str, Any], tmp_path: Path) -> None:
    script["write"](tmp_path / "none", tmp_path)
    assert list(tmp_path.iterdir()) == []
