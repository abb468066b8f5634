"""The verdict on two bases: on common seeds, and against the seeds' range."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    import compare_bases

    monkeypatch.setattr(compare_bases, "RESULTS", tmp_path)
    yield compare_bases
    sys.modules.pop("compare_bases")


def record(folder: Path, base: str, run: str, end: float) -> None:
    run_folder = folder / "base" / base / run
    run_folder.mkdir(parents=True)
    lines = [{"step": 0, "eval_STS-B_spearman": 0.45}, {"step": 250, "eval_STS-B_spearman": end}]
    (run_folder / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    (run_folder / "results.json").write_text(json.dumps({"base_score": 0.45}), "utf-8")


def test_a_gain_counts_where_it_is_more_than_the_range_of_the_common_seeds(script, tmp_path):
    for base, simcse, clusterns in (("one", 0.50, 0.50), ("two", 0.53, 0.51)):
        record(tmp_path, base, "simcse-1", simcse)
        record(tmp_path, base, "simcse-2", simcse + 0.02)
        record(tmp_path, base, "clusterns-1", clusterns)
        record(tmp_path, base, "clusterns-2", clusterns + 0.02)
    record(tmp_path, "one", "simcse-3", 0.9)  # only one base has it: it says nothing
    script.write_table()
    text = (tmp_path / "base" / "README.md").read_text("utf-8")
    assert (
        "| one | 45.0 | 50.0 (1), 52.0 (2), 90.0 (3); mean 64.0 | 50.0 (1), 52.0 (2); mean 51.0 |"
        in text
    )
    assert (
        "- simcse: +3.0 from one to two (+3.0, +3.0), more than the range over 2 seeds (2.0)."
        in text
    )
    assert (
        "- clusterns: +1.0 from one to two (+1.0, +1.0), not more than the range over 2 seeds (2.0)."
        in text
    )


def test_a_method_that_was_not_run_from_both_has_no_verdict(script, tmp_path):
    record(tmp_path, "one", "simcse-1", 0.5)
    record(tmp_path, "two", "clusterns-1", 0.6)
    script.write_table()
    text = (tmp_path / "base" / "README.md").read_text("utf-8")
    assert "- simcse: no seed was run from both." in text
    assert "not run" in text
