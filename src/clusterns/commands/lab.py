"""``clusterns lab``: list experiments, run them, and search for settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer
from annotated_types import Ge
from pydantic import Field

from clusterns.commands.lab_results import (
    ExperimentOptions,
    LabFiguresRequest,
    LabFolder,
    LabOptions,
    LabRecordRequest,
    LabReportRequest,
    LabRestoreRequest,
    LabTableCommand,
)
from clusterns.commands.options import Changes
from clusterns.commands.request import Cli, Request, add_command, function
from clusterns.commands.workers import WorkerOptions
from clusterns.console import stdout
from clusterns.errors import UserError
from clusterns.lab.experiment import (
    BUDGETS,
    WIKIPEDIA,
    Experiment,
    experiment_names,
    load_experiment,
)

if TYPE_CHECKING:
    from clusterns.lab.trial import Trial


class LabListRequest(Request):
    """List the experiments of the paper.

    clusterns lab run main

    For an experiment of your own, write a YAML file as docs/lab.md explains, and pass it instead.
    """

    def run(self) -> dict[str, Experiment]:
        """Load the experiments, by name."""
        return {name: load_experiment(name) for name in experiment_names()}

    def show(self, result: dict[str, Experiment]) -> None:
        """Print a table."""
        from rich.table import Table

        table = Table("experiment", "what", "in the paper", "trials", box=None, pad_edge=False)
        for name, experiment in result.items():
            trials = sum(len(experiment.seeds_of(row)) for _, row, _ in experiment.lines())
            table.add_row(name, experiment.title, experiment.source, str(trials))
        stdout.print(table)


class LabRun(NamedTuple):
    """Number of finished trials of an experiment, and the reasons of failures by trial."""

    done: int
    trials: int
    failed: dict[str, str]


class LabRunRequest(ExperimentOptions, WorkerOptions):
    """Run the trials of an experiment that have no result yet.

    The main table:   clusterns lab run main

    To resume after an interruption, run the same command again.

    Then:   clusterns lab table main
    """

    on: Literal["local", "ray", "slurm"] = "local"
    """Where trials run: local processes, Ray (the cluster at RAY_ADDRESS, else this machine) or Slurm."""
    lab: Annotated[LabFolder, Cli(Path, ("--lab", "--output"))] = "runs/lab"

    def run(self) -> LabRun:
        """Run the trials."""
        from clusterns.lab.trial import run_trials

        _, trials = self.find()
        with self.launcher(self.on, Path(self.lab) / "engine") as launcher:
            failed = run_trials(trials, launcher, self.workers)
        return LabRun(sum(trial.is_done for trial in trials), len(trials), failed)

    def resume_hint(self) -> str:
        return "Finished trials are kept: run the same command again to continue."

    def show(self, result: LabRun) -> None:
        """Print the number of finished trials and the failures."""
        stdout.print(
            f"{result.done} of {result.trials} trials have a result in {self.lab}.", soft_wrap=True
        )
        for name, why in result.failed.items():
            stdout.print(f"failed: {name}: {why}", soft_wrap=True)
        if result.failed:
            raise typer.Exit(1)


class LabSearchRequest(LabOptions):
    """Search for the best settings of a method on STS-B dev, with a seed that is not used in any table.

    clusterns lab search clusterns

    The first trial is the unchanged recipe. To resume after an interruption, run the same command again. Two
    processes that run at the same time share the work.
    """

    method: Annotated[str, Cli(argument=True)] = Field(kw_only=False)
    """A trained method of `clusterns methods`."""
    trials: Annotated[int, Ge(1)] = 20
    """Total number of trials. Give every method that you compare the same number."""
    settings: Changes = {}
    """A setting of all trials, such as positives=crop. May be repeated."""
    over: Annotated[Sequence[str], Cli(list[str], metavar="KEY")] = ()
    """Search only this setting. May be repeated. Default: the whole space of the method."""

    def run(self) -> dict[str, Any]:
        """Search, and return the record."""
        if find_spec("optuna") is None:
            raise UserError("lab search needs Optuna: pip install 'clusterns[search]'.")
        from clusterns.encoder.locate import identity_of_base
        from clusterns.lab.search import SEED, Search, space_of
        from clusterns.lab.trial import find_corpus, make_trial
        from clusterns.training.recipe import DEFAULT_RECIPE, load_recipe

        settings = {
            **BUDGETS[self.budget], **self.settings, "method": self.method, "seed": SEED,
            **({} if self.base is None else {"base": self.base}),
        }  # fmt: skip
        corpus = find_corpus(self.corpus or WIKIPEDIA)
        recipe = load_recipe(DEFAULT_RECIPE, settings)
        space = space_of(recipe, self.over)

        def trial_of(values: Mapping[str, Any]) -> Trial:
            return make_trial(f"{self.method}, search", {**settings, **values}, corpus, self.folder)

        name = "-".join([trial_of({}).folder.name, *self.over])
        about = {
            "method": self.method, "settings": settings, "corpus": Path(corpus).name,
            "base": identity_of_base(str(recipe.base)),
        }  # fmt: skip
        first = {key: getattr(recipe, key) for key in space}
        search = Search(self.folder / "search" / name, space, first, trial_of, self._run, about)
        record = search.run(self.trials)
        if record["best"] is None:
            raise UserError(f"no trial has a result: {record['trials'][0]['reason']}")
        return {**record, "first": first, "file": str(search.folder / "record.json")}

    @staticmethod
    def _run(trial: Trial) -> str | None:
        """Run a trial in its own process; return the reason if it fails."""
        from clusterns.lab.trial import run_trials

        with WorkerOptions().launcher("local", Path()) as launcher:
            return next(iter(run_trials([trial], launcher, 1).values()), None)

    def resume_hint(self) -> str:
        return "Finished trials are kept: run the same command again to continue."

    def show(self, result: dict[str, Any]) -> None:
        """Print the best settings, as options of `clusterns train`."""
        trials = result["trials"]
        best = next(one for one in trials if one["number"] == result["best"])
        first = [
            one["value"]
            for one in trials
            if one["settings"] == result["first"] and one["value"] is not None
        ]
        own = f" ({first[0]:.2f} with the unchanged recipe)" if first else ""
        stdout.print(f"best of {len(trials)} trials: {best['value']:.2f}{own}", soft_wrap=True)
        for key, value in best["settings"].items():
            shown = f"{value:.4g}" if isinstance(value, float) else value
            stdout.print(f"  --set {key}={shown}")
        stdout.print(f"Wrote {result['file']}.", soft_wrap=True)


class LabTrialRequest(Request):
    """Run one trial; `clusterns lab run` starts this command."""

    folder: Annotated[str | Path, Cli(Path, argument=True)] = Field(kw_only=False)
    """Folder of the trial."""

    def run(self) -> None:
        """Train and evaluate."""
        from clusterns.commands.trial import run_trial

        run_trial(Path(self.folder))


lab_list = function(LabListRequest)
lab_run = function(LabRunRequest)
lab_search = function(LabSearchRequest)

COMMANDS: dict[str, type[Request]] = {
    "list": LabListRequest, "run": LabRunRequest, "table": LabTableCommand,
    "figures": LabFiguresRequest, "search": LabSearchRequest, "record": LabRecordRequest,
    "restore": LabRestoreRequest, "report": LabReportRequest,
}  # fmt: skip
app = typer.Typer(
    help="Experiments: methods over seeds, their tables and figures.",
    no_args_is_help=True,
    add_completion=False,
)
app.callback()(lambda: None)
for name, request in COMMANDS.items():
    add_command(app, name, request)
add_command(app, "trial", LabTrialRequest, hidden=True)
