from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from clusterns.cli import app
from clusterns.console import stdout
from clusterns.evaluation.catalog import EvaluationData
from clusterns.evaluation.results import Results, SetResult, SuiteResult


def run(*arguments: object) -> str:
    result = CliRunner().invoke(
        app, ["compare", *map(str, arguments)], catch_exceptions=False, env={"COLUMNS": "200"}
    )
    assert result.exit_code == 0, result.output
    return result.output


def write(path: Path, name: str, noise: float, shared_data: Path) -> Path:
    pairs = EvaluationData(shared_data).pairs("STS-B")
    cosines = pairs.scores + noise * np.random.default_rng(1).normal(size=len(pairs.scores))
    one = SetResult(100 - noise, "Spearman", 1379, 0.0, digest=pairs.digest)
    geometry = {
        key: SetResult(noise, key, 1379, 0.0) for key in ("alignment", "uniformity", "anisotropy")
    }
    suites = {"sts": SuiteResult({"STS-B": one}, 100 - noise), "geometry": SuiteResult(geometry)}
    Results(name, suites=suites, predictions={"sts/STS-B": cosines.astype(np.float32)}).write(path)
    return path


def test_models_side_by_side(
    tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdout, "width", 200)  # made when it was first imported, at 80
    files = [
        write(tmp_path / "a.json", "good", 1, shared_data),
        write(tmp_path / "b.json", "bad", 5, shared_data),
    ]
    outputs = [tmp_path / "c.md", tmp_path / "c.tex", tmp_path / "c.json"]
    asked = [part for path in outputs for part in ("--output", path)]
    shown = run(
        *files,
        *("--published", "--data", shared_data, "--n-resamples", 200),
        *asked,
        *("--picture", tmp_path / "p.png"),
    )
    assert "ClusterNS-BERT-base (paper)" in shown
    assert "sts: good over bad" in shown
    assert "| good | **99.00** |\n" in outputs[0].read_text()
    (difference,) = json.loads(outputs[2].read_text())
    assert difference["excludes_zero"]
    assert 0 < difference["low"] < difference["points"] < difference["high"]
    assert difference["name"] == "STS-B"
    assert (tmp_path / "p.png").stat().st_size > 5000


def test_gold_scores_not_at_hand(tmp_path: Path, shared_data: Path) -> None:
    files = [write(tmp_path / f"{n}.json", "same", n, shared_data) for n in (1, 2)]
    empty = tmp_path / "empty"
    empty.mkdir()
    shown = run(*files, "--data", empty)
    assert "same" in shown
    assert "Differences" not in shown
    assert "Not compared: STS-B (the gold scores were not found (--data)" in shown


def test_json_is_all_that_is_on_stdout(tmp_path: Path, shared_data: Path) -> None:
    files = [write(tmp_path / f"{n}.json", f"m{n} [cls]", n, shared_data) for n in (1, 5)]
    asked = [*files, "--data", shared_data, "--json", "--output", tmp_path / "c.md"]
    result = CliRunner().invoke(app, ["compare", *map(str, asked)])
    found = json.loads(result.stdout)
    assert [model["name"] for model in found["models"]] == ["m1 [cls]", "m5 [cls]"]
    assert found["differences"][0]["excludes_zero"]
    assert "Wrote" in result.stderr
    assert "m5 [cls]" in (tmp_path / "c.md").read_text()


def test_recorded_results_are_read(shared_data: Path, tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "results" / "reference"
    files = [folder / "quickstart.json", folder / "minibert-mean.json"]
    run(*files, "--data", shared_data, "--output", tmp_path / "c.json", "--n-resamples", 500)
    found = {one["name"]: one for one in json.loads((tmp_path / "c.json").read_text())}
    assert {"STS13", "SICK-R", "MR", "MRPC", "Avg."} <= set(found)
    assert "Avg." not in {one["name"] for one in found.values() if one["suite"] == "transfer"}
    assert found["STS13"]["points"] == pytest.approx(47.12 - 14.01, abs=0.01)
    assert found["STS13"]["excludes_zero"]
    assert not found["MRPC"]["excludes_zero"]
