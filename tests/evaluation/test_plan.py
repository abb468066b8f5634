from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clusterns.errors import UserError
from clusterns.evaluation import hub
from clusterns.evaluation.catalog import SUITES, EvaluationData
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.plan import Plan, find_jobs

MISSING = {"MPQA", "Bio", "Go-S", "G-TS"}


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hub, "reachable", lambda: False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("CLUSTERNS_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def real(shared_data: Path) -> Plan:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hub, "reachable", lambda: False)
        return find_jobs(SUITES, EvaluationData(shared_data))


def test_all_that_is_there_is_found_and_the_rest_is_named(real: Plan) -> None:
    found = {(job.suite, job.name) for job in real.jobs}
    expected = {(suite, name) for suite, names in SUITES.items() for name in names}
    sample = {("clustering", "DBpedia (10,000 rows)")}
    assert found - sample == {
        (suite, name) for suite, name in expected if name not in MISSING | {"DBpedia"}
    }
    assert sample <= found
    assert {each.name for each in real.skipped} == MISSING


def test_one_table_says_what_runs_what_is_stored_and_what_is_missing(real: Plan) -> None:
    table = real.table(stored=real.jobs[:2])
    rows = {(suite, cells[0]): cells[1:] for suite, cells in table.rows}
    assert rows["sts", "STS12"] == ["3,108", "senteval/STS/STS12-en-test", "stored"]
    assert rows["sts", "STS14"][2] == "will run"
    assert rows["transfer", "MPQA"] == [None, None, "missing"]
    assert rows["geometry", "STS-B"][0] == "1,379"
    assert len(table.rows) == len(real.jobs) + len(MISSING)
    assert any("clusterns data fetch" in note for note in table.notes)
    assert any("rashadulrakib" in note for note in table.notes)
    assert len(table.notes) == 2  # each remedy once


def test_nothing_at_hand_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Not found: MR .*, MRPC "):
        find_jobs(["transfer"], EvaluationData(tmp_path))


def test_a_suite_without_data_does_not_stop_the_others(shared_data: Path) -> None:
    data = EvaluationData(shared_data / "senteval")
    plan = find_jobs(["sts", "clustering"], data)
    assert {job.suite for job in plan.jobs} == {"sts"}
    assert [each.suite for each in plan.skipped] == ["clustering"] * 9


def test_a_broken_set_is_said_and_left_out(tmp_path: Path) -> None:
    (tmp_path / "STS/STSBenchmark").mkdir(parents=True)
    (tmp_path / "STS/STSBenchmark/sts-test.csv").write_text("g\tf\ty\t1\t2.5\ta\tb\n" * 3)
    (tmp_path / "MPQA").mkdir()
    (tmp_path / "MPQA/mpqa.pos").write_text("good\n" * 3311)
    (tmp_path / "MPQA/mpqa.neg").write_text("bad\n" * 7295)
    data = EvaluationData(tmp_path)
    plan = find_jobs(["sts", "transfer"], data)
    assert [job.name for job in plan.jobs] == ["MPQA"]
    table = plan.table()
    states = {cells[0]: cells[3] for _, cells in table.rows}
    assert (states["STS-B"], states["STS12"]) == ("broken", "missing")
    assert any("a correlation needs" in note or "has 3 rows" in note for note in table.notes)
    with pytest.raises(UserError, match=r"a correlation needs.* Not found: STS12"):
        find_jobs(["sts"], data)


def test_two_own_files_of_one_name(tmp_path: Path) -> None:
    pairs = ScoredPairs(["cat", "dog"], ["cat", "sun"], np.array([5.0, 0.0]), "pairs")
    with pytest.raises(UserError, match="Duplicate dataset name pairs"):
        find_jobs([], EvaluationData(tmp_path), [pairs, pairs])
