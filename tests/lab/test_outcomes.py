"""What trials leave, gathered by line and seed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from clusterns.commands.trial import _dev_last, _last
from clusterns.files import write_json
from clusterns.lab.experiment import Experiment
from clusterns.lab.outcomes import Outcome, gather, read_curves
from clusterns.lab.trial import trials_of
from clusterns.training.folder import RunFolder, RunResult


def test_lines_have_what_is_done_and_say_why_the_rest_is_missing(tmp_path: Path) -> None:
    values = {
        "title": "T", "seeds": 3, "evaluate": [], "grid": {"sigma": [0.2, 0.4]},
        "table": {"columns": {"Avg.": "dev"}, "published": "sigma"},
        "rows": {
            "A": {"settings": {"method": "clusterns"}, "paper_row": "ClusterNS"},
            "Level": {
                "settings": {"method": "simcse"}, "once": True, "beside": "ClusterNS, sigma 0.6",
            },
        },
    }  # fmt: skip
    experiment = Experiment.model_validate(values)
    trials = trials_of(experiment, tmp_path, "small", corpus="owner/text")
    assert len(trials) == 9
    by_name = {(trial.line, trial.seed): trial for trial in trials}
    for seed, value in ((1, 50.0), (2, 52.0)):
        result = by_name["A, sigma 0.2", seed].folder / "result.json"
        write_json(result, {"suites": {}, "values": {"dev": value}})
    for key, text in (
        (("A, sigma 0.2", 3), "so far so good\nerror: the disk is full\n"),
        (("A, sigma 0.4", 2), ""),
    ):
        by_name[key].folder.mkdir(parents=True)
        by_name[key].log.write_text(text)
    first, second, level = gather(experiment, trials)
    assert (first.label, first.row, first.point) == ("A, sigma 0.2", "A", {"sigma": 0.2})
    assert first.paper_row == "ClusterNS, sigma 0.2"
    assert first.values("dev") == {1: 50.0, 2: 52.0}
    assert first.values("sts/Avg.") == {}
    assert first.missing == {3: "the disk is full"}
    assert second.missing == {1: "not run", 2: "started, not finished", 3: "not run"}
    assert (level.label, level.point, level.paper_row) == ("Level", {}, "ClusterNS, sigma 0.6")
    assert [line.label for line in gather(experiment, trials[:1])] == ["A, sigma 0.2"]


def test_curves_are_by_key_and_scores_times_a_hundred(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    lines = [
        {"step": 0, "eval_STS-B_spearman": 0.5, "eval_samples_per_second": 1.0},
        {"step": 5, "loss": 1.5, "learning_rate": 1.0, "epoch": 0.1},
        {"step": 6, "event": "clustering starts"},
        {"step": 10, "loss": 1.0, "eval_STS-B_spearman": 0.625},
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    assert read_curves(file) == {
        "eval_STS-B-dev_spearman": [(0, 50.0), (10, 62.5)],
        "loss": [(5, 1.5), (10, 1.0)],
    }
    assert read_curves(tmp_path / "none") == {}


def test_a_line_of_metrics_cut_short_by_a_kill_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    file.write_text('{"step": 1, "loss": 2.0}\n{"step": 2, "lo')
    assert read_curves(file) == {"loss": [(1, 2.0)]}
    assert _last(RunFolder(tmp_path)) == {}


def test_the_last_step_s_score_is_kept_and_read_from_the_curve_of_an_early_record(
    tmp_path: Path,
) -> None:
    scores = (0.5, 0.6, 0.4)
    lines = [json.dumps({"step": 5 * i, "eval_x": score}) for i, score in enumerate(scores)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines))
    trained = RunResult("x", 0.5, 0.6, best_step=5, steps=10)
    assert _dev_last(RunFolder(tmp_path), trained) == {"dev_last": 40.0}
    # Without training, the only validation in the file is that of the base.
    assert _dev_last(RunFolder(tmp_path), replace(trained, steps=0)) == {"dev_last": 60.0}
    early = {"metric": "x", "values": {"dev": 60.0}}
    one = Outcome(1, early, read_curves(tmp_path / "metrics.jsonl"))
    assert one.values == {"dev": 60.0, "dev_last": 40.0}
    assert Outcome(1, {"values": {"dev": 60.0}}, {}).values == {"dev": 60.0}
