from __future__ import annotations

from pathlib import Path

from clusterns.encoder.locate import identity_of_base
from clusterns.record import make_record
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import load_recipe


def test_a_run_and_an_evaluation_keep_the_same_record(tmp_path: Path) -> None:
    record = make_record(corpus={}, base=identity_of_base("minibert"))
    folder = RunFolder(tmp_path / "run")
    folder.create(load_recipe("default"), {})
    assert folder.record | {"date": ""} == record | {"date": ""}
    assert "command" not in record  # pytest runs this: no command of ours
    assert {"torch", "datasets", "accelerate", "scikit-learn"} <= set(record["versions"])
