"""A lab that goes on from records: nothing that is on record runs again, and the tables are the same."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clusterns.commands.trial import run_trial
from clusterns.errors import UserError
from clusterns.evaluation.results import (
    Results,
    SetResult,
    SuiteResult,
    read_predictions,
    write_predictions,
)
from clusterns.evaluation.stored import StoredResult
from clusterns.files import read_json, write_json
from clusterns.lab.compare import find_differences
from clusterns.lab.experiment import Experiment, load_experiment
from clusterns.lab.outcomes import gather
from clusterns.lab.records import Record, predictions_file
from clusterns.lab.restore import Restored, restore
from clusterns.lab.tables import scores_table
from clusterns.lab.trial import Trial, trials_of
from clusterns.training.folder import RunFolder, RunResult
from tests.lab.small_lab import fill, lab, scores, write

RESULT = {
    "metric": "STS-B_spearman", "processor_seconds": 3.0, "settings": {"method": "simcse"},
    "run": {"steps": 8}, "record": {"versions": {}},
}  # fmt: skip


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    values = {"seeds": 2, "evaluate": ["sts"], "compare_by": "sts/Avg."}
    return load_experiment(str(write(fill(tmp_path), tmp_path / "base", **values)))


@pytest.fixture
def trials(tmp_path: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> list[Trial]:
    """Trials as they are after they have run, with predictions per example."""
    monkeypatch.setattr("clusterns.lab.identity.identity_of_base", lambda base: "a base")
    found = trials_of(experiment, tmp_path / "lab", "small")
    for number, trial in enumerate(found):
        value = 50.0 + number
        one = {"STS12": SetResult(value, "Spearman", 300, 0, digest="d")}
        cosines = np.random.default_rng(number).normal(size=300).astype(np.float32)
        stored = StoredResult("sts", "STS12", "d", trial.line, {}, {}, {}, one)
        replace(stored, predictions={"sts": cosines}).store(trial.folder / "run" / "evaluation")
        sets = {"STS12": asdict(one["STS12"])}
        (trial.folder / "run" / "metrics.jsonl").write_text('{"step": 5, "loss": 1.5}\n')
        (trial.folder / "run" / "recipe.yaml").write_text("temperature: 0.05\n")
        result = {
            **RESULT, "name": trial.folder.name, "identity": trial.identity,
            "corpus": trial.corpus, "suites": {"sts": {"sets": sets, "settings": {}, "seconds": 1.0}},
            "values": {"dev": value, "base": 1.0, "sts/Avg.": value},
        }  # fmt: skip
        result["record"] = {"command": ["clusterns", "lab", "cell", str(trial.folder)]}
        write_json(trial.folder / "result.json", result)
    return found


@pytest.fixture
def kept(tmp_path: Path, experiment: Experiment, trials: list[Trial]) -> Path:
    """Their record."""
    return Record("mine", "small", experiment, gather(experiment, trials)).write(
        tmp_path / "records"
    )


def test_tables_and_records_equal_those_of_the_lab_that_ran(
    tmp_path: Path, experiment: Experiment, trials: list[Trial], kept: Path
) -> None:
    lines = gather(experiment, trials)
    tested = find_differences(experiment, lines)
    assert len(tested[0].by_seed) == 2
    assert restore([kept], tmp_path / "other") == Restored(4, 0, 0)
    again = trials_of(experiment, tmp_path / "other", "small")
    assert all(trial.is_done for trial in again)
    restored = gather(experiment, again)
    assert scores_table(experiment, restored) == scores_table(experiment, lines)
    assert find_differences(experiment, restored) == tested
    second = Record("mine", "small", experiment, restored).write(tmp_path / "second")
    assert second.read_bytes() == kept.read_bytes()
    files = [{f.name: f.read_bytes() for f in p.parent.glob("answers/*")} for p in (kept, second)]
    assert files[0] == files[1]
    assert len(files[0]) == 4


def test_predictions_of_two_records_of_a_trial_are_joined(
    tmp_path: Path, experiment: Experiment, trials: list[Trial], kept: Path
) -> None:
    file = predictions_file(kept.parent, trials[0].result or {})
    own = read_predictions(file)
    write_predictions(file, {"transfer/MR": np.ones(3)})
    Record("mine", "small", experiment, gather(experiment, trials)).write(kept.parent)
    assert read_predictions(file).keys() == {"transfer/MR", *own}


def test_of_two_records_the_more_complete_one_counts(
    tmp_path: Path, trials: list[Trial], kept: Path
) -> None:
    (tmp_path / "bare").mkdir()
    bare = Path(shutil.copy(kept, tmp_path / "bare"))
    assert restore([bare], tmp_path / "other").without_predictions == 4
    assert restore([kept, bare], tmp_path / "other") == Restored(4, 0, 0)
    assert restore([kept, bare], tmp_path / "other") == Restored(0, 4, 0)
    # What has run is left alone.
    before = [trial.result for trial in trials]
    assert restore([kept], tmp_path / "lab") == Restored(0, 4, 0)
    assert [trial.result for trial in trials] == before


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not contain records"):
        restore([tmp_path], tmp_path / "lab")
    done = lab("restore", tmp_path / "none.jsonl", "--lab", tmp_path / "lab")
    assert done.code == 2
    assert "cannot read the record" in done.err
    assert not (tmp_path / "lab").exists()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("name", "a/..", "not the name of a trial"),
        ("name", ["a"], "is incomplete"),
        ("suites", {"sts": {}}, "is incomplete: suites.sts.sets: "),
        ("values", ..., "is incomplete: values: "),
        ("values", None, "is incomplete: values: "),
        ("values", {"sts/Avg.": "high"}, "is incomplete: values.sts/Avg.: "),
        ("run", [], "is incomplete: run: "),
        ("suites", {"sts": {"sets": {"STS12": {}}}}, "suites.sts.sets.STS12.value: "),
        ("line", "Nobody", "it has trials without a line: Nobody"),
    ],
)
def test_an_incomplete_trial_is_refused_and_nothing_is_written(
    tmp_path: Path, kept: Path, key: str, value: Any, said: str
) -> None:
    *lines, last = kept.read_text("utf-8").splitlines()
    changed = {**json.loads(last), key: value}
    if value is ...:
        del changed[key]
    kept.write_text("\n".join([*lines, json.dumps(changed)]), "utf-8")
    with pytest.raises(UserError, match=said):
        restore([kept], tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_record_that_was_cut_off_or_damaged_is_refused_and_nothing_is_written(
    tmp_path: Path, kept: Path
) -> None:
    lines = kept.read_text("utf-8").splitlines()
    kept.write_text("\n".join(lines[:-1]), "utf-8")
    with pytest.raises(UserError, match="it has 3 of 4 trials"):
        restore([kept], tmp_path / "other")
    kept.write_text("\n".join(lines), "utf-8")
    file = sorted(kept.parent.glob("answers/*"))[-1]
    whole = file.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"no zip"):
        file.write_bytes(damaged)
        with pytest.raises(UserError, match="is broken"):
            restore([kept], tmp_path / "other")
    file.write_bytes(whole)
    write_predictions(file, {key: rows[:10] for key, rows in read_predictions(file).items()})
    with pytest.raises(UserError, match="has 10 predictions for the 300 rows of STS12"):
        restore([kept], tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_only_missing_trials_run(tmp_path: Path, tiny_bert: Path) -> None:
    file = write(fill(tmp_path), tiny_bert)
    first, second = tmp_path / "first", tmp_path / "second"
    assert lab("run", file, "--output", first, "--row", "SimCSE").code == 0
    experiment = load_experiment(str(file))
    lines = gather(experiment, trials_of(experiment, first, "small"))
    kept = Record("mine", "small", experiment, lines).write(tmp_path / "records")
    assert lab("restore", kept, "--lab", second).code == 0
    assert lab("run", file, "--output", second).code == 0
    assert len(scores(second)) == 2
    assert scores(first).items() <= scores(second).items()
    ran = {path.parent.name for path in second.glob("cells/*/run")}
    assert [name.split("-")[0] for name in ran] == ["clusterns"]
    # A restored trial that is asked for more than it has is trained, and is what it was.
    (name,) = scores(first)
    order = read_json(first / "cells" / name / "cell.json")
    write_json(second / "cells" / name / "cell.json", order)
    assert lab("trial", second / "cells" / name).code == 0
    assert (second / "cells" / name / "run" / "model").is_dir()
    assert scores(second)[name] == scores(first)[name]


@pytest.mark.parametrize("killed", [False, True])
def test_a_restored_trial_is_evaluated_again_with_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    """On all that the record had, too, or its answers would lie nowhere; also after a kill."""
    asked: list[str] = []

    def judge(run: Path, suite: str, **options: Any) -> Results:
        asked.append(suite)
        return Results(suite, suites={suite: SuiteResult({})})

    folder = tmp_path / "cells" / "simcse-1-0123456789"
    ended = RunResult("m", base_score=0.1, best_score=0.2, best_step=1, steps=1)
    plan = SimpleNamespace(run=lambda: SimpleNamespace(result=ended))
    monkeypatch.setattr("clusterns.commands.trial.evaluate", judge)
    monkeypatch.setattr("clusterns.commands.trial.plan_run", lambda *a, **k: plan)
    for file in ("results.json", *(("run.json",) if killed else ())):
        write_json(folder / "run" / file, {})
    if not killed:
        monkeypatch.setattr(RunFolder, "record", {})
    order = {
        "corpus": "c",
        "recipe": "default",
        "settings": {},
        "suites": ["geometry"],
        "kmeans_seeds": 1,
    }
    write_json(folder / "cell.json", order)
    write_json(folder / "result.json", {"suites": {"sts": {}}, "curves": {}})
    run_trial(folder)
    assert asked == ["sts", "geometry"]
    # Now it has run here: what it was judged on stays, and only more is asked for.
    asked.clear()
    run_trial(folder)
    assert asked == ["geometry"]
    assert set(read_json(folder / "result.json")["suites"]) == {"sts", "geometry"}
