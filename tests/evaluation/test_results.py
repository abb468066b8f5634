from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from clusterns.errors import UserError
from clusterns.evaluation.catalog import AVERAGED
from clusterns.evaluation.results import Results, SetResult, SuiteResult


def made(name: str = "m", suite: str = "sts", **values: float) -> Results:
    sets = {key: SetResult(value, "Spearman", 3, 0.0, digest=key) for key, value in values.items()}
    items = {f"{suite}/{key}": np.array([0.1, 0.2, 0.3], dtype=np.float32) for key in values}
    return Results(name, {"fingerprint": "f"}, {"seed": 1}, {suite: SuiteResult(sets)}, items)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    results = made(STS12=50.123456789)
    results.suites["sts"].sets["STS12"].details = {"MSRpar": 1.5}
    results.write(tmp_path / "r.json")
    again = Results.read(tmp_path / "r.json")
    assert again.suites == results.suites
    assert (again.name, again.model, again.record) == ("m", {"fingerprint": "f"}, {"seed": 1})
    np.testing.assert_array_equal(again.predictions["sts/STS12"], results.predictions["sts/STS12"])


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"format": 1, "name": "x"}'])
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(UserError, match="holds no results"):
        Results.read(tmp_path / "r.json")


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
