"""A lab from the command line: cells trained and judged, killed and continued to the same scores."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from tests.lab.small_lab import command, fill, scores, write


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("lab"))


def test_killed_and_continued_gives_the_same_scores_and_a_failure_is_named(place, tiny_bert):
    file = write(place, tiny_bert)
    whole, stopped = place / "whole", place / "stopped"
    done = subprocess.run(command("run", file, "--output", whole), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 cells have a result" in done.stdout
    expected = scores(whole)
    assert len(expected) == 2
    assert any("last/hard_negative_similarity" in values for values in expected.values())

    lab = subprocess.Popen(command("run", file, "--output", stopped, "--workers", 1))
    while not list(stopped.glob("cells/*/run/checkpoints/checkpoint-2/trainer_state.json")):
        assert lab.poll() is None
        time.sleep(0.02)
    os.kill(lab.pid, signal.SIGKILL)
    lab.wait()
    assert not scores(stopped)
    rows = yaml.safe_load(file.read_text("utf-8"))["rows"]
    broken = {"settings": {"method": "dclr", "judge": str(place / "none")}}
    file = write(place, tiny_bert, rows={**rows, "Broken": broken})
    done = subprocess.run(command("run", file, "--output", stopped), capture_output=True, text=True)
    assert done.returncode == 1
    assert "2 of 3 cells have a result" in done.stdout
    assert "failed: Broken, seed 1: " in done.stdout
    assert "is not a run folder" in done.stdout
    assert "Traceback" not in done.stderr
    assert scores(stopped) == expected
    results = [json.loads(f.read_text("utf-8")) for f in stopped.glob("cells/*/result.json")]
    assert sorted(result["resumed"] for result in results) == [False, True]
    for result in results:
        assert result["processor_seconds"] > 0
        assert result["record"]["versions"]["torch"]
        assert result["settings"]["seed"] == 1
    assert not list(stopped.glob("cells/*/run/checkpoints"))


def test_the_table_and_the_figures_of_a_lab(place, tiny_bert):
    file = write(place, tiny_bert)
    options = [file, "--lab", place / "whole"]
    done = subprocess.run(command("table", *options), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    dev = {name.split("-")[0]: values["dev"] for name, values in scores(place / "whole").items()}
    best = max(dev, key=lambda method: round(dev[method], 2))
    assert f"**{dev[best]:.2f}**" in done.stdout
    assert f"| ClusterNS over SimCSE | {dev['clusterns'] - dev['simcse']:+.2f} | 1 |" in done.stdout
    page = place / "table.html"
    subprocess.run(command("table", *options, "--seeds", 2, "--output", page), check=True)
    assert "Missing: SimCSE, seed 2: not run." in page.read_text("utf-8")
    done = subprocess.run(command("figures", *options), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {Path(line).name for line in done.stdout.splitlines()} == {"dev.svg", "dev.png"}
    assert "none: nothing to draw yet." in done.stderr


def test_a_finished_cell_is_only_judged_where_another_suite_is_asked_for(
    place, tiny_bert, shared_data
):
    file = write(place, tiny_bert, evaluate=["geometry"])
    output = place / "whole"
    before = {f: f.stat().st_mtime_ns for f in output.glob("cells/*/run/model/*.safetensors")}
    done = subprocess.run(command("run", file, "--output", output), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for values in scores(output).values():
        assert {"geometry/alignment", "geometry/uniformity", "dev"} <= set(values)
    assert {f: f.stat().st_mtime_ns for f in before} == before
    again = subprocess.run(command("run", file, "--output", output), capture_output=True, text=True)
    assert "2 of 2 cells have their result already" in again.stderr
