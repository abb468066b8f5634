from __future__ import annotations

from pathlib import Path

from clusterns.encoder.locate import identity_of_base
from clusterns.lab.records import Record
from clusterns.record import current_metric, make_record
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import load_recipe


def test_a_run_and_an_evaluation_keep_the_same_record(tmp_path: Path) -> None:
    record = make_record(corpus={}, base=identity_of_base("minibert"))
    folder = RunFolder(tmp_path / "run")
    folder.create(load_recipe("default"), {})
    assert folder.record | {"date": ""} == record | {"date": ""}
    assert "command" not in record  # pytest runs this: no command of ours
    assert {"torch", "datasets", "accelerate", "scikit-learn"} <= set(record["versions"])


def test_older_metrics_are_read_under_their_current_names() -> None:
    assert current_metric("eval_STS-B_spearman") == "eval_STS-B-dev_spearman"
    assert current_metric("STS-B_spearman") == "STS-B-dev_spearman"
    assert current_metric("eval_loss") == "eval_loss"
    record = Record.read(Path(__file__).parents[1] / "results/lab/main.jsonl")
    for line in record.lines:
        curves = line.curves("eval_STS-B-dev_spearman")
        assert curves == line.curves("eval_STS-B_spearman")
        assert len(curves) == len(line.outcomes) > 0
