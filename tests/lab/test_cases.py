"""A case study shows sentences of the text with the models that are at hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from clusterns.files import read_json, write_json
from clusterns.lab.cases import CENTRAL, case_tables
from clusterns.lab.experiment import load_experiment
from clusterns.lab.trial import trials_of
from tests.lab.small_lab import fill, write
from tests.lab.small_lab import lab as run_lab


def test_clusters_of_every_row_that_has_a_model(tmp_path: Path, tiny_bert: Path) -> None:
    file, lab = write(fill(tmp_path), tiny_bert, cases=2), tmp_path / "lab"
    assert run_lab("run", file, "--output", lab, "--row", "SimCSE").code == 0
    trials = trials_of(load_experiment(str(file)), lab, "small")
    (table,) = case_tables(trials, 2)
    assert table.title == "Clusters of SimCSE, seed 1"
    assert len(table.rows) == 2 * CENTRAL
    lines = (tmp_path / "corpus.txt").read_text("utf-8").splitlines()
    assert {row[-1] for _, row in table.rows} <= set(lines)
    sizes = [int(str(row[0])) for _, row in table.rows if row[0] is not None]
    assert len(sizes) == 2
    assert sizes[0] >= sizes[1] > 0
    shown = run_lab("table", file, "--lab", lab, "--row", "SimCSE")
    assert "### Clusters of SimCSE, seed 1" in shown.out
    # A trial without its model, as a record gives it, has nothing to show.
    (done,) = (trial for trial in trials if trial.is_done)
    (done.folder / "run").rename(tmp_path / "elsewhere")
    assert case_tables(trials, 2) == []
    restored = read_json(done.folder / "result.json")
    write_json(done.folder / "result.json", {**restored, "curves": {}})
    assert not done.is_done
    assert replace(done, shows_cases=False).is_done
