"""docs/lab.md: its example works as it stands, and it names every key."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from clusterns.lab.drawing import Drawing
from clusterns.lab.experiment import Experiment, Row, TableDrawing
from tests.lab.small_lab import command, fill

PAGE = (Path(__file__).parents[2] / "docs" / "lab.md").read_text("utf-8")


def test_the_example_runs_and_is_drawn_as_it_stands(tmp_path: Path, tiny_bert: Path) -> None:
    fill(tmp_path)
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "mine.yaml").write_text(example, "utf-8")
    # A tiny base in the place of minibert: nothing else differs.
    base = ["--base", tiny_bert]

    def run(*arguments: object) -> str:
        done = subprocess.run(command(*arguments), cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "6 of 6 cells have a result in runs/lab" in run("run", "mine.yaml", *base)
    table = run("table", "mine.yaml", *base)
    assert table.count(" ± ") >= 3
    assert "| ClusterNS, crops over SimCSE, crops |" in table
    assert "2/2^n for n seeds: 0.5 with 2" in table
    run("figures", "mine.yaml", *base)
    found = {file.name for file in (tmp_path / "runs" / "lab" / "figures").iterdir()}
    assert found == {"mine.svg", "mine.png", "mine-curves.svg", "mine-curves.png"}


@pytest.mark.parametrize("kind", [Experiment, Row, TableDrawing, Drawing])
def test_every_key_is_named(kind: type[Experiment]) -> None:
    missing = [key for key in kind.model_fields if not re.search(rf"[`.]{key}`", PAGE)]
    assert missing == []
