"""One trial of an experiment: train and evaluate a model in this process, on one thread."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterns.commands.evaluate import evaluate
from clusterns.commands.plan import plan_run
from clusterns.console import silenced
from clusterns.errors import UserError
from clusterns.evaluation.results import average
from clusterns.evaluation.tables import AVERAGE
from clusterns.files import read_json, write_json
from clusterns.lab.specs import AMI, DEV_LAST, DIAGNOSTICS, LAST
from clusterns.lab.trial import SPEC, is_restored
from clusterns.locks import locked
from clusterns.record import make_record
from clusterns.training.folder import RunFolder, RunResult, read_metrics

LOCK_TIMEOUT = 7 * 24 * 3600.0  # seconds that another lab may spend on the same trial

if TYPE_CHECKING:
    from clusterns.evaluation.results import Results


def run_trial(folder: Path) -> None:
    """Execute ``folder/cell.json``: train or resume, evaluate, and write ``result.json`` last.

    Checkpoints and every evaluated set are kept, so that an interrupted trial can resume.
    """
    spec_file = folder / SPEC
    if not spec_file.is_file():
        raise UserError(f"{folder} is not a trial of a lab: `clusterns lab run` makes them.")
    spec = read_json(spec_file)
    with locked(folder, LOCK_TIMEOUT):
        import torch

        torch.set_num_threads(1)
        began = time.process_time()
        run = RunFolder(folder / "run")
        resumed = run.is_run
        if resumed:
            plan = plan_run((), run.path, resume=True)
        else:
            plan = plan_run(
                [spec["corpus"]], run.path, recipe=spec["recipe"], changes=spec["settings"]
            )
        with silenced():
            trained = plan.run()
        earlier = folder / "result.json"
        known = read_json(earlier) if earlier.is_file() else {"suites": {}}
        before = known["suites"]
        # Suites of a restored trial were evaluated elsewhere: evaluate them again, for their predictions.
        wanted = dict.fromkeys([*(before if is_restored(known) else ()), *spec["suites"]])
        evaluated = {
            suite: evaluate(run.path, suite, kmeans_runs=spec["kmeans_seeds"], quiet=True)
            for suite in wanted
        }
        suites = {**before, **{name: _plain(results, name) for name, results in evaluated.items()}}
        # The time of earlier calls counts, except for a restored trial, which ran elsewhere.
        earlier_seconds = 0.0 if is_restored(known) else known.get("processor_seconds", 0.0)
        write_json(
            folder / "result.json",
            {
                **spec,
                "base": run.record.get("base"),
                "metric": trained.result.metric,
                "run": read_json(run.results_file),
                "record": make_record(),
                "resumed": resumed,
                "processor_seconds": round(earlier_seconds + time.process_time() - began, 1),
                "values": {
                    **_values(trained.result),
                    **_dev_last(run, trained.result),
                    **_scores(suites),
                    **_last(run),
                },
                "suites": suites,
            },
        )
        # A finished run does not need its checkpoints, which are its largest part.
        shutil.rmtree(run.checkpoints, ignore_errors=True)


def _plain(results: Results, suite: str) -> dict[str, Any]:
    """The numbers of a suite, with their settings."""
    found = results.plain()["suites"][suite]
    return {"sets": found["sets"], "settings": found["settings"], "seconds": found["seconds"]}


def _values(result: Any) -> dict[str, float]:
    """Scores of the training itself, x100."""
    values = {"base": 100 * result.base_score, "dev": 100 * result.best_score}
    if result.clustering_started_at is not None:
        values["clustering_started_at"] = result.clustering_started_at
    return {**values, "best_step": result.best_step}


def _dev_last(run: RunFolder, result: RunResult) -> dict[str, float]:
    """The validation score of the last step, even if not selected; without steps, that of the model."""
    if not result.steps:
        return {DEV_LAST: 100 * result.best_score}
    key = f"eval_{result.metric}"
    scores = [line[key] for line in read_metrics(run.metrics_file) if key in line]
    return {DEV_LAST: 100 * scores[-1]} if scores else {}


def _scores(suites: dict[str, Any]) -> dict[str, float]:
    """Score of every set by ``suite/set``, and the average of each complete suite."""
    found: dict[str, float] = {}
    for suite, one in suites.items():
        values = {name: each["value"] for name, each in one["sets"].items()}
        found |= {f"{suite}/{name}": value for name, value in values.items()}
        mean = average(suite, values)
        if mean is not None:
            found[f"{suite}/{AVERAGE}"] = mean
        # DBpedia or a part of it, which has its own name.
        found |= {f"{suite}/{AMI}": v for name, v in values.items() if name.startswith("DBpedia")}
    return found


def _last(run: RunFolder) -> dict[str, float]:
    """The diagnostics at the end of training, by ``last/name``."""
    found: dict[str, float] = {}
    for values in read_metrics(run.metrics_file):
        if "loss" in values:
            found = {f"{LAST}/{k}": v for k, v in values.items() if k.endswith(DIAGNOSTICS)}
    return found
