"""Results on disk: a file for each set, nothing written over, nothing lost; and all of them in one file."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clusterns.errors import UserError
from clusterns.evaluation.catalog import AVERAGED
from clusterns.evaluation.compare import gold_scores, shared_sets
from clusterns.evaluation.results import Results, SetResult, SuiteResult, predictions_file
from clusterns.evaluation.stored import StoredResult, find_stored, gather, join, read_results


def stored(
    name: str = "STS-B",
    value: float = 50.0,
    suite: str = "sts",
    day: int = 1,
    digest: str = "rows-a",
    versions: str = "1",
    settings: dict[str, Any] | None = None,
    **model: Any,
) -> StoredResult:
    facts = {"model": "m", "fingerprint": "f", "max_length": 128} | model
    record = {"date": f"2026-01-{day:02}", "versions": {"torch": versions}}
    sets = {name: SetResult(value, "Spearman", 3, 0.0, digest=digest)}
    rows = np.array([0.1, 0.2, value], dtype=np.float32)
    items = {suite: rows} | ({"gold/own": rows * 2} if suite == "own" else {})
    return StoredResult(
        suite, name, digest, "m", facts, settings or {}, record, sets, 1.0, predictions=items
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    one = stored()
    one.store(tmp_path)
    (path,) = (tmp_path / "sts").glob("*.json")
    assert path.name == f"STS-B.{one.key}.json"
    again = StoredResult.read(path)
    np.testing.assert_array_equal(again.predictions.pop("sts"), one.predictions.pop("sts"))
    assert again == one


@pytest.mark.parametrize(
    "other",
    [
        {"max_length": 16},
        {"truncate_dim": 64},
        {"prompt_name": "query"},
        {"dtype": "bfloat16"},
        {"pooling": "cls"},
        {"fingerprint": "g"},
        {"digest": "rows-b"},
        {"settings": {"kmeans_seeds": 3}},
        {"versions": "2"},
        {"suite": "own"},
        {"name": "STS12"},
    ],
)
def test_nothing_that_differs_is_written_over(tmp_path: Path, other: dict[str, Any]) -> None:
    first, second = stored(), stored(value=60.0, **other)
    first.store(tmp_path)
    second.store(tmp_path)
    assert len(list(tmp_path.glob("*/*.json"))) == 2
    found = find_stored(tmp_path, first)
    assert found is not None
    assert found.sets["STS-B"].value == 50


def test_equal_results_of_equal_versions_are_found_again(tmp_path: Path) -> None:
    stored().store(tmp_path)
    assert find_stored(tmp_path, stored(day=2, value=0.0)) is not None
    assert find_stored(tmp_path, stored(versions="2")) is None
    (path,) = (tmp_path / "sts").glob("*.json")
    predictions_file(path).write_bytes(b"PK\x03\x04 cut off")
    assert find_stored(tmp_path, stored()) is None


def test_a_hostile_name_stays_in_its_folder(tmp_path: Path) -> None:
    stored("../../x\x1b/" + "y" * 300, suite="own").store(tmp_path / "a")
    (path,) = tmp_path.rglob("*.json")
    assert path.parent == tmp_path / "a" / "own"


def test_two_evaluations_at_once_lose_nothing(tmp_path: Path) -> None:
    names = [f"set-{i}" for i in range(20)]
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(
                lambda name: stored(name, suite="own").store(tmp_path / "evaluation"), names * 3
            )
        )
    (results,) = read_results(tmp_path)
    assert set(results.suites["own"].sets) == set(names)
    assert len(results.predictions) == 2 * len(names)
    assert not list(tmp_path.rglob("*.partial"))


def test_a_run_has_one_result_for_each_way_it_was_read(tmp_path: Path) -> None:
    for one in (stored(), stored("STS12", 40.0), stored(value=30.0, max_length=16)):
        one.store(tmp_path / "evaluation")
    found = {results.name: results for results in read_results(tmp_path)}
    assert set(found) == {"m (max_length 128)", "m (max_length 16)"}
    whole = found["m (max_length 128)"].suites["sts"]
    assert {name: one.value for name, one in whole.sets.items()} == {"STS12": 40, "STS-B": 50}
    assert whole.seconds == 2
    assert "STS16" in whole.missing


def test_only_the_newest_weights_count(capsys: pytest.CaptureFixture[str]) -> None:
    old, new = stored("STS12", day=1, fingerprint="old"), stored(day=2, fingerprint="new")
    (results,) = gather([new, old])
    assert list(results.suites["sts"].sets) == ["STS-B"]
    assert "m: 1 results of earlier weights are ignored" in capsys.readouterr().err


def test_two_kmeans_runs_do_not_replace_ten(tmp_path: Path) -> None:
    ten = stored("AG", 80.0, "clustering", settings={"kmeans_seeds": 10})
    two = stored("AG", 60.0, "clustering", day=2, settings={"kmeans_seeds": 2})
    for one in (ten, two):
        one.store(tmp_path / "evaluation")
    (results,) = read_results(tmp_path)
    assert results.suites["clustering"].sets["AG"].value == 80
    assert results.suites["clustering"].settings == {"kmeans_seeds": 10}
    assert results.record["date"] == "2026-01-01"


def test_another_version_overwrites_nothing_and_the_newest_counts(tmp_path: Path) -> None:
    stored(day=2, versions="2", value=7.0).store(tmp_path / "evaluation")
    stored(day=1).store(tmp_path / "evaluation")
    (results,) = read_results(tmp_path)
    assert results.suites["sts"].sets["STS-B"].value == 7
    assert len(list(tmp_path.rglob("*.json"))) == 2


def test_own_files_of_one_name_are_told_apart_and_compared() -> None:
    models = [
        join([stored("pairs", v, "own"), stored("pairs", v + 1, "own", digest="rows-b")])
        for v in (1.0, 2.0)
    ]
    assert set(models[0].suites["own"].sets) == {"pairs (rows-a)", "pairs (rows-b)"}
    keys = list(shared_sets(models))
    assert keys == ["own/pairs (rows-a)", "own/pairs (rows-b)"]
    gold = gold_scores(models, lambda name: pytest.fail("no benchmark is asked for"))
    assert list(gold) == keys


def made(**values: float) -> Results:
    sets = {key: SetResult(value, "Spearman", 3, 0.0, digest=key) for key, value in values.items()}
    items = {f"sts/{key}": np.array([0.1, 0.2, 0.3], dtype=np.float32) for key in values}
    return Results("m", suites={"sts": SuiteResult(sets)}, predictions=items)


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"format": N, "name": "x"}'])
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(UserError, match="has no results: compute them with `clusterns evaluate"):
        read_results(tmp_path)
    (tmp_path / "evaluation/sts").mkdir(parents=True)
    for path, number in ((tmp_path / "r.json", "1"), (tmp_path / "evaluation/sts/x.json", "2")):
        path.write_text(content.replace("N", number))
        with pytest.raises(
            UserError, match=rf"{path.name} does not contain results .* or is broken"
        ):
            read_results(path if path.name == "r.json" else tmp_path)


def test_missing_other_version_and_broken_answers(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    with pytest.raises(UserError, match="cannot read"):
        Results.read(path)
    made(STS12=1.0).write(path)
    path.with_suffix(".npz").write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(UserError, match=r"r.npz is broken"):
        Results.read(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    with pytest.raises(UserError, match="another version"):
        Results.read(path)


def test_average_and_what_is_missing_follow_from_the_sets() -> None:
    suite = made(**{name: float(i) for i, name in enumerate(AVERAGED["sts"])}).suites["sts"]
    suite.complete("sts")
    assert (suite.average, suite.missing) == (3.0, [])
    sets = {name: one for name, one in suite.sets.items() if name not in ("STS13", "SICK-R")}
    suite = SuiteResult(sets | {"SICK-R (Hub)": SetResult(1.0, "Spearman", 3, 0.0)})
    suite.complete("sts")
    assert suite.sets["SICK-R (Hub)"].variant == "Hub"
    assert (suite.average, suite.missing) == (None, ["STS13"])


def test_a_recorded_sample_of_dbpedia_goes_by_its_own_name() -> None:
    record = Path(__file__).parents[2] / "results/reference/quickstart.json"
    sets = Results.read(record).suites["clustering"].sets
    assert "DBpedia" not in sets
    assert sets["DBpedia (10,000 rows)"].rows == 10_000
