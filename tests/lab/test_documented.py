"""docs/lab.md: its example works as it stands, and it names every key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clusterns.lab.experiment import Experiment, Row
from clusterns.lab.specs import FigureSpec, TableSpec
from tests.lab.small_lab import fill, lab

PAGE = (Path(__file__).parents[2] / "docs" / "lab.md").read_text("utf-8")


def test_the_example_runs_and_is_drawn_as_it_stands(
    tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fill(tmp_path)
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "mine.yaml").write_text(example, "utf-8")
    # A tiny base in the place of minibert: nothing else differs.
    base = ["--base", tiny_bert]

    def run(*arguments: object) -> str:
        done = lab(*arguments)
        assert done.code == 0, done.err
        return done.out

    assert "6 of 6 trials have a result in runs/lab" in run("run", "mine.yaml", *base)
    table = run("table", "mine.yaml", *base)
    assert table.count(" ± ") >= 3
    assert "| ClusterNS, crops over SimCSE, crops |" in table
    assert "from 6 seeds on: with n seeds it cannot be below 2/2^n" in table
    run("figures", "mine.yaml", *base)
    found = {file.name for file in (tmp_path / "runs" / "lab" / "figures").iterdir()}
    assert found == {
        f"{n}.{f}" for n in ("mine", "mine-curves", "differences") for f in ("svg", "png")
    }


@pytest.mark.parametrize("kind", [Experiment, Row, TableSpec, FigureSpec])
def test_every_key_is_named(kind: type[Experiment]) -> None:
    missing = [key for key in kind.model_fields if not re.search(rf"[`.]{key}`", PAGE)]
    assert missing == []
