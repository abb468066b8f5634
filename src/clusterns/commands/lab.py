"""``clusterns lab``: experiments over seeds, anywhere, and what they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer
from annotated_types import Ge
from pydantic import Field

from clusterns.commands.options import Changes, OptionalPath, Texts, as_list
from clusterns.commands.request import Cli, Request, add_command, function
from clusterns.commands.workers import WorkerOptions
from clusterns.console import log, stdout
from clusterns.errors import Interrupted, UserError
from clusterns.lab.experiment import (
    BUDGETS,
    WIKIPEDIA,
    Budget,
    Experiment,
    experiment_names,
    load_experiment,
)

if TYPE_CHECKING:
    from clusterns.lab.restore import Restored
    from clusterns.lab.trial import Trial
    from clusterns.tables import Table

LabFolder = Annotated[str | Path, Field(description="Folder of the lab."), Cli(Path)]
FORMATS = {".md": "md", ".tex": "tex"}


class LabOptions(Request):
    """Where the trials are, and what all of them have in common."""

    budget: Budget = "small"
    """small: minibert, minutes per trial on one thread. raw: the same from a masked language model (minibert-raw),
    for comparing methods. paper: the published settings, for GPUs."""
    base: str | None = None
    """Another encoder to start from, for all trials."""
    corpus: str | None = None
    """Another training corpus, for all trials."""
    lab: LabFolder = "runs/lab"

    @property
    def folder(self) -> Path:
        """The full path of the lab."""
        return Path(self.lab).resolve()


class ExperimentOptions(LabOptions):
    """An experiment, and which of its trials are meant."""

    experiment: Annotated[str | Path, Cli(str, argument=True)] = Field(kw_only=False)
    """An experiment of `clusterns lab list`, or a YAML file of your own."""
    seeds: Annotated[int | None, Ge(1)] = None
    """Number of seeds per stochastic row. Default: as in the experiment."""
    rows: Annotated[Sequence[str], Cli(list[str], ("--row",))] = ()
    """Only this row. May be repeated."""

    def find(self) -> tuple[Experiment, list[Trial]]:
        """The experiment, and the trials that the options ask for."""
        from clusterns.lab.trial import trials_of

        experiment = load_experiment(str(self.experiment))
        return experiment, trials_of(
            experiment, self.folder, self.budget,
            seeds=self.seeds, base=self.base, corpus=self.corpus, only=self.rows,
        )  # fmt: skip

    def find_results(self) -> tuple[Experiment, list[Trial]]:
        """The same; refuse if no trial has a result."""
        experiment, trials = self.find()
        if not any(trial.is_done for trial in trials):
            raise UserError(
                f"{self.lab} has no result of this experiment: run `clusterns lab run` with the same options."
            )
        return experiment, trials


class LabListRequest(Request):
    """List the experiments of the paper.

    clusterns lab run main

    For an experiment of your own, write a YAML file as docs/lab.md explains, and name it instead.
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
    """How many trials of an experiment have a result now, and why others failed, by name."""

    done: int
    trials: int
    failed: dict[str, str]


class LabRunRequest(ExperimentOptions, WorkerOptions):
    """Run the trials of an experiment that have no result yet.

    The main table:   clusterns lab run main

    After an interruption, give the same command again.

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

    def execute(self) -> None:
        """Run as a command; an interruption keeps the finished trials."""
        try:
            super().execute()
        except KeyboardInterrupt:
            log("Stopped. Finished trials are kept; continue with the same command.")
            raise typer.Exit(130) from None

    def show(self, result: LabRun) -> None:
        """Print what is done, and what failed."""
        stdout.print(
            f"{result.done} of {result.trials} trials have a result in {self.lab}.", soft_wrap=True
        )
        for name, why in result.failed.items():
            stdout.print(f"failed: {name}: {why}", soft_wrap=True)
        if result.failed:
            raise typer.Exit(1)


class LabTableRequest(ExperimentOptions):
    """Print the table of an experiment: mean and standard deviation over seeds, beside the paper's rows.

    Rows that the experiment compares are paired by seed: the mean difference with its 95 % interval, then a verdict.
    The table says what is missing.

    For a paper:   clusterns lab table main --output main.tex
    """

    output: OptionalPath = None
    """Write to this .md or .tex file."""

    def run(self) -> list[Table]:
        """Make the tables, and write them to the file."""
        output = None if self.output is None else Path(self.output)
        if output is not None and output.suffix.lower() not in FORMATS:
            raise UserError(f"--output {output}: tables are written as .md or .tex.")
        experiment, trials = self.find_results()
        from clusterns.lab.cases import case_tables
        from clusterns.lab.compare import find_differences
        from clusterns.lab.outcomes import gather
        from clusterns.lab.tables import differences_table, scores_table
        from clusterns.tables import write_tables

        lines = gather(experiment, trials)
        tables = [scores_table(experiment, lines)]
        if experiment.pairs():
            tables.append(differences_table(experiment, find_differences(experiment, lines)))
        if experiment.cases:
            tables += case_tables(trials, experiment.cases)
        if output is not None:
            write_tables(output, tables)
            log(f"Wrote {output}.")
        return tables


class LabTableCommand(LabTableRequest):
    format: Literal["md", "tex"] = "md"
    """Format to print."""

    def show(self, result: list[Table]) -> None:
        """Print the tables, unless they went to a file."""
        from clusterns.tables import tables_as

        if self.output is None:
            stdout.print(tables_as(self.format, result), soft_wrap=True, end="")


class LabFiguresRequest(ExperimentOptions):
    """Draw the figures of an experiment as SVG and PNG, with the spread over seeds.

    clusterns lab figures main
    """

    output: OptionalPath = None
    """Folder to write to. Default: figures in the folder of the lab."""

    def run(self) -> list[Path]:
        """Draw, and return the files."""
        experiment, trials = self.find_results()
        if not experiment.figures:
            raise UserError(f"{self.experiment} declares no figures: docs/lab.md explains the key.")
        from clusterns.lab.figures import draw
        from clusterns.lab.outcomes import gather

        lines = gather(experiment, trials)
        folder = Path(self.lab) / "figures" if self.output is None else Path(self.output)
        found = []
        for name, spec in experiment.figures.items():
            written = draw(name, spec, lines, folder)
            if not written:
                log(f"{name}: nothing to draw yet.")
            found += written
        return found

    def show(self, result: list[Path]) -> None:
        """Print the names of the files."""
        for path in result:
            stdout.print(str(path), soft_wrap=True)


class LabSearchRequest(LabOptions):
    """Search for the best settings of a method on STS-B dev, with a seed that no table uses.

    clusterns lab search clusterns

    The first trial is the unchanged recipe. After an interruption, give the same command again. Two processes
    started at the same time share the work.
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
        """Run a trial in a process of its own; the reason if it fails."""
        from clusterns.lab.trial import run_trials

        with WorkerOptions().launcher("local", Path()) as launcher:
            return next(iter(run_trials([trial], launcher, 1).values()), None)

    def execute(self) -> None:
        """Run as a command; an interruption keeps the finished trials."""
        try:
            super().execute()
        except KeyboardInterrupt:
            raise typer.Exit(130) from None

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


class LabRestoreRequest(Request):
    """Put the trials of records into a lab, so that only missing ones run.

    The rows of this project's own tables, to compare yours with:

    clusterns lab restore results/lab

    Then:   clusterns lab run mine.yaml
    """

    records: Texts = Field(kw_only=False)
    """Records of experiments (.jsonl), or folders of them."""
    lab: LabFolder = "runs/lab"

    def run(self) -> Restored:
        """Restore the trials."""
        from clusterns.lab.restore import restore

        return restore([Path(name) for name in as_list(self.records)], Path(self.lab).resolve())

    def show(self, result: Restored) -> None:
        """Print what was restored."""
        lines = [f"{result.trials} trials put into {self.lab}."]
        if result.there:
            lines.append(f"{result.there} were there already.")
        if result.without_predictions:
            lines.append(
                f"{result.without_predictions} have no predictions per example, so tests over examples leave "
                "them out."
            )
        lines += [
            f"superseded, not used in place of a new run: {name}" for name in result.superseded
        ]
        for line in lines:
            stdout.print(line, soft_wrap=True)


class LabTrialRequest(Request):
    """Run one trial; `clusterns lab run` hands them out."""

    folder: Annotated[str | Path, Cli(Path, argument=True)] = Field(kw_only=False)
    """Folder of the trial."""

    def run(self) -> None:
        """Train and evaluate."""
        from clusterns.lab.trial import SPEC

        if not (Path(self.folder) / SPEC).is_file():
            raise UserError(
                f"{self.folder} is not a trial of a lab: `clusterns lab run` makes them."
            )
        from clusterns.api.lab import run_trial

        try:
            run_trial(Path(self.folder))
        except Interrupted as stop:
            log(f"Stopped: {stop}.")
            raise typer.Exit(130) from None


lab_list = function(LabListRequest)
lab_run = function(LabRunRequest)
lab_table = function(LabTableRequest)
lab_figures = function(LabFiguresRequest)
lab_search = function(LabSearchRequest)
lab_restore = function(LabRestoreRequest)

COMMANDS: dict[str, type[Request]] = {
    "list": LabListRequest, "run": LabRunRequest, "table": LabTableCommand,
    "figures": LabFiguresRequest, "search": LabSearchRequest, "restore": LabRestoreRequest,
}  # fmt: skip
app = typer.Typer(
    help="Experiments: methods over seeds, their tables and figures.", no_args_is_help=True
)
app.callback()(lambda: None)
for name, request in COMMANDS.items():
    add_command(app, name, request)
add_command(app, "trial", LabTrialRequest, hidden=True)
