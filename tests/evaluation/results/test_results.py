from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from clusterns.errors import UserError
from clusterns.evaluation.results.results import Results, SetResult, SuiteResult


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
    np.testing.assert_array_equal(again.items["sts/STS12"], results.items["sts/STS12"])


def test_run_folder_stands_for_its_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="clusterns evaluate"):
        Results.read(tmp_path)
    made(STS12=1.0).write(tmp_path / "evaluation.json")
    assert Results.read(tmp_path).suites["sts"].sets["STS12"].value == 1


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


def test_earlier_suites_are_kept_and_newer_ones_win() -> None:
    new, old = made(STS12=2.0), made(STS12=1.0)
    old.suites["transfer"] = made(suite="transfer", MR=80.0).suites["transfer"]
    old.items["transfer/MR"] = np.array([True])
    new.add(old)
    assert new.suites["sts"].sets["STS12"].value == 2
    assert new.suites["transfer"].sets["MR"].value == 80
    assert set(new.items) == {"sts/STS12", "transfer/MR"}
