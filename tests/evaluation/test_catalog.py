"""Sets found by name: in folders, in what was fetched, on the Hub; whole, broken or missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from clusterns.errors import UserError
from clusterns.evaluation import hub
from clusterns.evaluation.catalog import (
    AVERAGED,
    CATALOG,
    SUITES,
    VARIABLE,
    Catalog,
    Entry,
    EvaluationData,
    MissingData,
)
from clusterns.evaluation.datasets import LabeledTexts, ScoredPairs, TransferTask
from clusterns.evaluation.plan import find_jobs
from tests.helpers.texts import write

NOT_IN_THE_FOLDER = {"MPQA", "Bio", "Go-S", "G-TS"}
STSB = "STS/STSBenchmark/sts-dev.csv"


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hub, "reachable", lambda: False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("CLUSTERNS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(VARIABLE, raising=False)


def mpqa(folder: Path, word: str = "good") -> Path:
    write(folder / "MPQA/mpqa.pos", f"{word}\n" * 3311)
    write(folder / "MPQA/mpqa.neg", "bad\n" * 7295)
    return folder


@pytest.mark.parametrize("name", [name for name in CATALOG.sets if name not in NOT_IN_THE_FOLDER])
def test_every_real_set_is_read_whole(name: str, shared_data: Path) -> None:
    entry, found = CATALOG.sets[name], EvaluationData(shared_data).find(name)
    assert found.name == name
    assert entry.rows
    if isinstance(found, ScoredPairs):
        assert 0 <= found.scores.min() < found.scores.max() <= 5
    elif isinstance(found, TransferTask):
        assert {part.classes for part in found.parts} == {len(entry.labels) or 2}
    else:
        assert isinstance(found, LabeledTexts)
        assert found.classes == entry.classes


def test_the_papers_counts_hold(shared_data: Path) -> None:
    data = EvaluationData(shared_data)
    found = [sentence for name in AVERAGED["sts"] for sentence in data.pairs(name).sentences]
    assert len(set(found)) == 26289
    others = [name for name in CATALOG.sets if name.startswith(("STS-B ", "SICK-R "))]
    assert len(found) + sum(len(data.pairs(name).sentences) for name in others) == 62198


def test_a_set_in_a_known_format_is_one_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {
        "source": "short-text", "format": "own-texts", "files": ["x.csv"], "suite": ["clustering"],
        "rows": [4], "classes": 2, "metric": "AMI",
    }  # fmt: skip
    monkeypatch.setitem(CATALOG.sets, "X", Entry.model_validate(entry))
    write(tmp_path / "short-text/x.csv", "label,text\na,one\nb,two\na,three\nb,four\n")
    found = EvaluationData(tmp_path).find("X")
    assert isinstance(found, LabeledTexts)
    assert (found.label, found.metric, found.labels.tolist()) == ("X", "AMI", [0, 1, 0, 1])
    write(tmp_path / "short-text/x.csv", "label,text\na,one\nb,two\n")
    with pytest.raises(UserError, match="has 2 rows where X has 4"):
        EvaluationData(tmp_path).find("X")


@pytest.mark.parametrize("layout", ["", "senteval", "downstream", "data/downstream"])
def test_layouts(tmp_path: Path, layout: str, shared_data: Path) -> None:
    place = tmp_path / layout / STSB
    place.parent.mkdir(parents=True)
    shutil.copy(shared_data / "senteval" / STSB, place)
    assert len(EvaluationData(tmp_path).pairs("STS-B dev").scores) == 1500


def test_the_variable_names_the_folder_and_the_cache_comes_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = mpqa(tmp_path / "cache/data", "fine")
    task = EvaluationData().find("MPQA")
    assert isinstance(task, TransferTask)
    assert task.train.texts[0] == "fine"
    named = mpqa(tmp_path / "named")
    monkeypatch.setenv(VARIABLE, str(named))
    data = EvaluationData()
    task = data.find("MPQA")
    assert isinstance(task, TransferTask)
    assert (task.train.texts[0], task.train.labels.sum()) == ("good", 3311)
    assert data.shown(str(fetched / "MPQA")) == data.shown(str(named / "MPQA")) == "MPQA"
    monkeypatch.setenv(VARIABLE, str(tmp_path / "no"))
    with pytest.raises(UserError, match=f"named by {VARIABLE}, is not a folder"):
        EvaluationData()
    with pytest.raises(UserError, match="named by --data, is not a folder"):
        EvaluationData(tmp_path / "neither")


@pytest.mark.parametrize(
    ("name", "file", "content", "says"),
    [
        ("STS-B dev", STSB, "g\tf\ty\t1\t2.5\ta\tb\ng\tf\ty\t1\t3\tc\td\n", "has 2 rows .* has 1500"),
        ("Bio", "biomedical_true_text", "1\ta\n2\tb\n", "has 2 classes where Bio has 20"),
        ("MR", "MR/rt-polarity.pos", "good\n", "incomplete: MR/rt-polarity.neg is missing"),
        ("DBpedia", "dbpedia14/test.csv", '1,"t","a"\n2,"t","b"\n' * 35_001, "has 70002 rows"),
    ],
)  # fmt: skip
def test_what_is_not_whole_is_refused(
    tmp_path: Path, name: str, file: str, content: str, says: str
) -> None:
    write(tmp_path / file, content)
    with pytest.raises(UserError, match=says):
        EvaluationData(tmp_path).find(name)


def test_only_the_whole_of_dbpedia_goes_by_its_name(tmp_path: Path) -> None:
    for rows, label in ((70_000, "DBpedia"), (140, "DBpedia (140 rows)")):
        lines = (f'{i % 14 + 1},"t","content {i}"\n' for i in range(rows))
        write(tmp_path / "dbpedia14/test.csv", "".join(lines))
        found = EvaluationData(tmp_path).find("DBpedia")
        assert (found.name, found.label, found.metric) == ("DBpedia", label, "AMI")


def test_missing_sets_say_where_it_looked_and_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(MissingData) as caught:
        EvaluationData(tmp_path).pairs("STS12")
    message = str(caught.value)
    assert message.startswith("Not found: STS12 (STS/STS12-en-test/STS.input.MSRpar.txt). ")
    assert f"{tmp_path}, {tmp_path / 'senteval'}, " in message
    assert "the Hugging Face Hub (not in the local cache" in message
    assert "`clusterns data fetch`" in message
    with pytest.raises(MissingData, match="none is named with --data or CLUSTERNS_DATA, none was"):
        EvaluationData().find("AG")
    with pytest.raises(UserError) as several:
        find_jobs(["clustering"], EvaluationData(tmp_path))
    message = str(several.value)
    assert message.startswith("Not found: AG (agnewsdataraw-8000), Bio (biomedical_true_text), ")
    assert message.count(str(tmp_path / "short-text")) == 1


def test_one_table_says_what_runs_what_is_stored_and_what_is_missing(shared_data: Path) -> None:
    real = find_jobs(SUITES, EvaluationData(shared_data))
    found = {(job.suite, job.name.removesuffix(" (10,000 rows)")) for job in real.jobs}
    expected = {(suite, name) for suite, names in SUITES.items() for name in names}
    assert found == {(suite, name) for suite, name in expected if name not in NOT_IN_THE_FOLDER}
    assert {each.name for each in real.skipped} == NOT_IN_THE_FOLDER
    assert "DBpedia" in {*SUITES["clustering"]} - {*AVERAGED["clustering"]}
    table = real.table(stored=real.jobs[:2])
    rows = {(suite, cells[0]): cells[1:] for suite, cells in table.rows}
    assert rows["sts", "STS12"] == ["3,108", "senteval/STS/STS12-en-test", "stored"]
    assert rows["sts", "STS14"][2] == "will run"
    assert rows["transfer", "MPQA"] == [None, None, "missing"]
    assert rows["geometry", "STS-B"][0] == "1,379"
    assert len(table.rows) == len(real.jobs) + len(NOT_IN_THE_FOLDER)
    fetch, short_text = table.notes  # each hint once
    assert "clusterns data fetch" in fetch
    assert "rashadulrakib" in short_text


def test_missing_and_broken_sets_are_skipped(tmp_path: Path) -> None:
    mpqa(tmp_path)
    write(tmp_path / "STS/STSBenchmark/sts-test.csv", "g\tf\ty\t1\t2.5\ta\tb\n" * 3)
    data = EvaluationData(tmp_path)
    plan = find_jobs(["sts", "transfer", "clustering"], data)
    assert [(job.suite, job.name) for job in plan.jobs] == [("transfer", "MPQA")]
    skipped = [each.name for each in plan.skipped if each.suite == "clustering"]
    assert skipped == [*SUITES["clustering"]]
    table = plan.table()
    states = {cells[0]: cells[3] for _, cells in table.rows}
    assert (states["STS-B"], states["STS12"]) == ("broken", "missing")
    assert any("a correlation needs" in note for note in table.notes)
    with pytest.raises(UserError, match=r"a correlation needs.* Not found: STS12"):
        find_jobs(["sts"], data)


def test_two_own_files_of_one_name(tmp_path: Path) -> None:
    pairs = ScoredPairs(["cat", "dog"], ["cat", "sun"], np.array([5.0, 0.0]), "pairs")
    with pytest.raises(UserError, match="Duplicate dataset name pairs"):
        find_jobs([], EvaluationData(tmp_path), [pairs, pairs])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"suite": ["clustring"]}, "X: there is no suite, source or format 'clustring'"),
        ({"source": "nowhere"}, "X: there is no suite, source or format 'nowhere'"),
        ({"format": "csv"}, "X: there is no suite, source or format 'csv'"),
        ({"columns": [1, 2]}, "X: format own-texts does not read columns"),
    ],
)
def test_an_entry_with_a_mistake_is_refused(change: dict, says: str) -> None:
    entry = {"source": "mine", "format": "own-texts", "files": ["X.csv"], "suite": ["clustering"]}
    catalog = {
        "suites": {"clustering": "Clustering"},
        "sources": {"mine": {"folders": [""], "hint": "h"}},
    }
    assert Catalog.model_validate(catalog | {"sets": {"X": entry}}).sets["X"].files == ("X.csv",)
    with pytest.raises(ValueError, match=says):
        Catalog.model_validate(catalog | {"sets": {"X": entry | change}})
