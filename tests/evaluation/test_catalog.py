from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from clusterns.errors import UserError
from clusterns.evaluation import hub
from clusterns.evaluation.catalog import (
    AVERAGED,
    CATALOG,
    SUITES,
    VARIABLE,
    EvaluationData,
    MissingData,
    missing_message,
)

NOT_IN_THE_FOLDER = ("MPQA", "Bio", "Go-S", "G-TS")


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hub, "reachable", lambda: False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("CLUSTERNS_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", [name for name in CATALOG.sets if name not in NOT_IN_THE_FOLDER])
def test_every_real_set_is_read_whole(name: str, shared_data: Path) -> None:
    data = EvaluationData(shared_data)
    if name.split()[0] in SUITES["sts"]:
        pairs = data.pairs(name)
        assert 0 <= pairs.scores.min() < pairs.scores.max() <= 5
    elif name in SUITES["transfer"]:
        task = data.task(name)
        assert {part.classes for part in task.parts} == {6 if name == "TREC" else 2}
    else:
        assert data.texts(name).classes == CATALOG.sets[name].classes
    assert CATALOG.sets[name].rows


def test_issue_counts_hold(shared_data: Path) -> None:
    data = EvaluationData(shared_data)
    found = [sentence for name in SUITES["sts"] for sentence in data.pairs(name).sentences]
    assert len(set(found)) == 26289
    more = [
        sentence
        for name in CATALOG.sets
        if name.startswith(("STS-B ", "SICK-R "))
        for sentence in data.pairs(name).sentences
    ]
    assert len(found) + len(more) == 62198


@pytest.mark.parametrize("layout", ["", "senteval", "downstream", "data/downstream"])
def test_layouts(tmp_path: Path, layout: str, shared_data: Path) -> None:
    file = "STS/STSBenchmark/sts-dev.csv"
    place = tmp_path / layout / file
    place.parent.mkdir(parents=True)
    shutil.copy(shared_data / "senteval" / file, place)
    assert len(EvaluationData(tmp_path).pairs("STS-B dev").scores) == 1500


def test_the_variable_names_the_folder(
    tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(shared_data))
    assert EvaluationData().pairs("STS-B dev").name == "STS-B dev"
    assert len(EvaluationData().texts("AG").texts) == 8000
    monkeypatch.setenv(VARIABLE, str(tmp_path / "no"))
    with pytest.raises(UserError, match=f"named by {VARIABLE}, is not a folder"):
        EvaluationData()
    with pytest.raises(UserError, match="named by --data, is not a folder"):
        EvaluationData(tmp_path / "neither")


def test_truncated_at_a_line_end(tmp_path: Path, shared_data: Path) -> None:
    lines = (shared_data / "senteval/STS/STSBenchmark/sts-dev.csv").read_text().splitlines(True)
    place = tmp_path / "STS/STSBenchmark/sts-dev.csv"
    place.parent.mkdir(parents=True)
    place.write_text("".join(lines[:-1]))
    with pytest.raises(UserError, match="sts-dev.csv has 1499 rows where STS-B dev has 1500"):
        EvaluationData(tmp_path).pairs("STS-B dev")


def test_fewer_classes_than_the_original(tmp_path: Path) -> None:
    (tmp_path / "biomedical_true_text").write_text("1\ta\n2\tb\n")
    with pytest.raises(UserError, match="has 2 classes where Bio has 20"):
        EvaluationData(tmp_path).texts("Bio")


def dbpedia(folder: Path, rows: int) -> EvaluationData:
    (folder / "dbpedia14").mkdir(exist_ok=True)
    lines = [f'{i % 14 + 1},"t","content {i}"' for i in range(rows)]
    (folder / "dbpedia14/test.csv").write_text("\n".join(lines) + "\n")
    return EvaluationData(folder)


def test_only_the_whole_of_dbpedia_goes_by_its_name(tmp_path: Path) -> None:
    assert dbpedia(tmp_path, 70_000).texts("DBpedia").label == "DBpedia"
    assert dbpedia(tmp_path, 140).texts("DBpedia").label == "DBpedia (140 rows)"
    with pytest.raises(UserError, match="has 70001 rows where DBpedia has 70000"):
        dbpedia(tmp_path, 70_001).texts("DBpedia")


def test_what_was_fetched_is_found_after_the_named_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    named, fetched = tmp_path / "named", tmp_path / "cache/data"
    for folder, word in ((named, "good"), (fetched, "fine")):
        (folder / "MPQA").mkdir(parents=True)
        (folder / "MPQA/mpqa.pos").write_text(f"{word}\n" * 3311)
        (folder / "MPQA/mpqa.neg").write_text("bad\n" * 7295)
    assert EvaluationData().task("MPQA").train.texts[0] == "fine"
    data = EvaluationData(named)
    assert data.task("MPQA").train.texts[0] == "good"
    assert data.shown(str(fetched / "MPQA")) == data.shown(str(named / "MPQA")) == "MPQA"


def test_a_file_of_several_is_missing(tmp_path: Path) -> None:
    (tmp_path / "MR").mkdir()
    (tmp_path / "MR/rt-polarity.pos").write_text("good\n")
    with pytest.raises(UserError, match=r"incomplete: MR/rt-polarity.neg is missing"):
        EvaluationData(tmp_path).task("MR")


def test_mpqa_from_made_files(tmp_path: Path) -> None:
    (tmp_path / "MPQA").mkdir()
    (tmp_path / "MPQA/mpqa.pos").write_text("good\n" * 3311)
    (tmp_path / "MPQA/mpqa.neg").write_text("bad\n" * 7295)
    assert EvaluationData(tmp_path).task("MPQA").train.labels.sum() == 3311


def test_missing_says_where_it_looked_and_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(MissingData) as caught:
        EvaluationData(tmp_path).pairs("STS12")
    message = str(caught.value)
    assert message.startswith("Not found: STS12 (STS/STS12-en-test/STS.input.MSRpar.txt). ")
    assert f"{tmp_path}, {tmp_path / 'senteval'}, " in message
    assert "the Hugging Face Hub (not in the local cache" in message
    assert "`clusterns data fetch`" in message
    with pytest.raises(
        MissingData, match="none is named with --data or CLUSTERNS_DATA, none was fetched"
    ):
        EvaluationData().texts("AG")


def test_several_missing_sets_make_one_message(tmp_path: Path) -> None:
    data = EvaluationData(tmp_path)
    missing = []
    for name in AVERAGED["clustering"][:2]:
        with pytest.raises(MissingData) as caught:
            data.texts(name)
        missing.append(caught.value)
    message = missing_message(missing)
    assert message.startswith("Not found: AG (agnewsdataraw-8000), Bio (biomedical_true_text). ")
    assert message.count(str(tmp_path / "short-text")) == 1
