"""A lab from the command line: trials trained and evaluated, killed and continued to the same scores."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import yaml

from tests.helpers.commands import start_cli
from tests.lab.small_lab import fill, lab, scores, write


def test_killed_and_continued_gives_the_same_scores_and_a_failure_is_named(
    experiment: Path, whole: Path, tmp_path: Path, tiny_bert: Path
) -> None:
    stopped, expected = tmp_path / "stopped", scores(whole)
    assert len(expected) == 2
    assert any("last/hard_negative_similarity" in values for values in expected.values())

    killed = start_cli("lab", "run", experiment, "--output", stopped, "--workers", 1, daemon=False)
    while not list(stopped.glob("cells/*/run/checkpoints/checkpoint-2/trainer_state.json")):
        assert killed.poll() is None
        time.sleep(0.02)
    killed.kill()
    killed.wait()
    assert not scores(stopped)
    rows = yaml.safe_load(experiment.read_text("utf-8"))["rows"]
    broken = {"settings": {"method": "dclr", "judge": str(tmp_path / "none")}}
    file = write(fill(tmp_path), tiny_bert, rows={**rows, "Broken": broken})
    done = lab("run", file, "--output", stopped)
    assert done.code == 1
    assert "2 of 3 trials have a result" in done.out
    assert "failed: Broken, seed 1: " in done.out
    assert "is not a run folder" in done.out
    assert "Traceback" not in done.err
    assert scores(stopped) == expected
    results = [json.loads(f.read_text("utf-8")) for f in stopped.glob("cells/*/result.json")]
    assert sorted(result["resumed"] for result in results) == [False, True]
    for result in results:
        assert result["processor_seconds"] > 0
        assert result["record"]["versions"]["torch"]
        assert result["settings"]["seed"] == 1
    assert not list(stopped.glob("cells/*/run/checkpoints"))


def test_the_table_and_the_figures_of_a_lab(experiment: Path, whole: Path, tmp_path: Path) -> None:
    options = [experiment, "--lab", whole]
    done = lab("table", *options)
    assert done.code == 0, done.err
    dev = {name.split("-")[0]: values["dev"] for name, values in scores(whole).items()}
    best = max(dev, key=lambda method: round(dev[method], 2))
    assert f"**{dev[best]:.2f}**" in done.out
    assert f"| ClusterNS over SimCSE | {dev['clusterns'] - dev['simcse']:+.2f} |" in done.out
    page = tmp_path / "table.md"
    assert lab("table", *options, "--seeds", 2, "--output", page).code == 0
    assert "SimCSE, seed 2: missing, not run." in page.read_text("utf-8")
    done = lab("figures", *options, "--output", tmp_path)
    assert done.code == 0, done.err
    assert {Path(line).name for line in done.out.splitlines()} == {
        "dev.svg", "dev.png", "differences.svg", "differences.png",
    }  # fmt: skip
    assert "none: nothing to draw yet." in done.err


def test_a_finished_trial_is_only_evaluated_on_another_suite(
    whole: Path, tmp_path: Path, tiny_bert: Path, shared_data: Path
) -> None:
    output = Path(shutil.copytree(whole, tmp_path / "lab"))
    file = write(fill(tmp_path), tiny_bert, evaluate=["geometry"])
    before = {f: f.stat().st_mtime_ns for f in output.glob("cells/*/run/model/*.safetensors")}
    done = lab("run", file, "--output", output)
    assert done.code == 0, done.err
    for values in scores(output).values():
        assert {"geometry/alignment", "geometry/uniformity", "dev"} <= set(values)
    assert {f: f.stat().st_mtime_ns for f in before} == before
    again = lab("run", file, "--output", output)
    assert again.code == 0, again.err
    assert "2 of 2 trials already have their result" in again.err
