"""``clusterns lab table``, ``figures``, ``record``, ``restore`` and ``report``: results of experiments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge
from pydantic import Field

from clusterns.commands.options import OptionalPath, Texts, as_paths, check_suffixes
from clusterns.commands.request import Cli, Request, function
from clusterns.console import log, stdout
from clusterns.errors import UserError
from clusterns.lab.experiment import Budget, Experiment, load_experiment, short_name

if TYPE_CHECKING:
    from clusterns.lab.restore import Restored
    from clusterns.lab.trial import Trial
    from clusterns.tables import Table

LabFolder = Annotated[str | Path, Field(description="Folder of the lab."), Cli(Path)]
RECORDS = "results/lab"


class LabOptions(Request):
    """The folder of the trials, and settings that all of them share."""

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
    """An experiment, and a selection of its trials."""

    experiment: Annotated[str | Path, Cli(str, argument=True)] = Field(kw_only=False)
    """An experiment of `clusterns lab list`, or a YAML file of your own."""
    seeds: Annotated[int | None, Ge(1)] = None
    """Number of seeds per stochastic row. Default: as in the experiment."""
    rows: Annotated[Sequence[str], Cli(list[str], ("--row",))] = ()
    """Only this row. May be repeated."""

    def find(self) -> tuple[Experiment, list[Trial]]:
        """The experiment, and the trials that the options select."""
        from clusterns.lab.trial import trials_of

        experiment = load_experiment(str(self.experiment)).with_budget(self.budget)
        return experiment, trials_of(
            experiment, self.folder, self.budget,
            seeds=self.seeds, base=self.base, corpus=self.corpus, only=self.rows,
        )  # fmt: skip

    def find_results(self) -> tuple[Experiment, list[Trial]]:
        """As :meth:`find`, but refuse if no trial has a result."""
        experiment, trials = self.find()
        if not any(trial.is_done for trial in trials):
            raise UserError(
                f"{self.lab} has no result of this experiment: run `clusterns lab run` with the same options."
            )
        return experiment, trials


class LabTableRequest(ExperimentOptions):
    """Print the table of an experiment: mean and standard deviation over seeds, next to the paper's rows.

    Rows that the experiment compares are paired by seed: the mean difference with its 95 % interval, then a verdict.
    The table lists missing results.

    For a paper:   clusterns lab table main --output main.tex
    """

    output: OptionalPath = None
    """Write to this .md or .tex file."""

    def run(self) -> list[Table]:
        """Build the tables, and write them to the file."""
        check_suffixes("--output", self.output, ".md", ".tex")
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
        if self.output is not None:
            write_tables(Path(self.output), tables)
            log(f"Wrote {self.output}.")
        return tables


class LabTableCommand(LabTableRequest):
    format: Literal["md", "tex"] = "md"
    """Format to print."""

    def show(self, result: list[Table]) -> None:
        """Print the tables, unless they were written to a file."""
        from clusterns.tables import tables_as

        if self.output is None:
            stdout.print(tables_as(self.format, result), soft_wrap=True, end="")


class LabFiguresRequest(ExperimentOptions):
    """Draw the figures of an experiment as SVG and PNG, with the spread over seeds.

    Differences between compared rows are also drawn, by seed and with intervals (differences.svg).

    clusterns lab figures main
    """

    output: OptionalPath = None
    """Folder to write to. Default: figures in the folder of the lab."""

    def run(self) -> list[Path]:
        """Draw, and return the files."""
        experiment, trials = self.find_results()
        if not experiment.figures and not experiment.pairs():
            raise UserError(f"{self.experiment} declares no figures; see `figures` in docs/lab.md.")
        from clusterns.lab.compare import find_differences
        from clusterns.lab.figures import draw, draw_differences
        from clusterns.lab.outcomes import gather

        lines = gather(experiment, trials)
        folder = Path(self.lab) / "figures" if self.output is None else Path(self.output)
        found = []
        for name in experiment.figures:
            written = draw(name, experiment, lines, folder)
            if not written:
                log(f"{name}: nothing to draw yet.")
            found += written
        differences = {one.name: one for one in find_differences(experiment, lines)}
        return found + draw_differences("differences", differences, folder)

    def show(self, result: list[Path]) -> None:
        """Print the names of the files."""
        for path in result:
            stdout.print(str(path), soft_wrap=True)


class LabRecordRequest(ExperimentOptions):
    """Keep a record of an experiment: all numbers of its trials, their commands and versions, no vectors, no paths.

    clusterns lab record mine.yaml --output results/lab

    Searches are recorded with it. Records are small enough to be committed. `clusterns lab report` makes a page of
    them, and `clusterns lab restore` puts their trials into another lab.
    """

    output: Annotated[str | Path, Cli(Path)] = RECORDS
    """Folder of the records."""

    def run(self) -> list[Path]:
        """Write the record, unless the existing one has more trials."""
        experiment, trials = self.find_results()
        from clusterns.lab.outcomes import gather
        from clusterns.lab.records import Record, keep_record, keep_searches

        name, lines = short_name(str(self.experiment)), gather(experiment, trials)
        folder = Path(self.output)
        kept = keep_record(Record(name, self.budget, experiment, lines), folder)
        return [kept, *keep_searches(self.folder, folder)]

    def show(self, result: list[Path]) -> None:
        """Print the names of the files."""
        for path in result:
            stdout.print(str(path), soft_wrap=True)


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

        return restore(as_paths(self.records), Path(self.lab).resolve())

    def show(self, result: Restored) -> None:
        """Print what was restored."""
        lines = [f"{result.trials} trials put into {self.lab}."]
        if result.there:
            lines.append(f"{result.there} existed already.")
        if result.without_predictions:
            lines.append(
                f"{result.without_predictions} have no predictions per example: `clusterns compare` cannot test them."
            )
        lines += [
            f"superseded, not used in place of a new run: {name}" for name in result.superseded
        ]
        for line in lines:
            stdout.print(line, soft_wrap=True)


class LabReportRequest(Request):
    """Write a page of results from records: a figure that answers the question, comparisons, tables and figures.

    clusterns lab report results/lab --output results.md

    A template page.md.jinja among the records replaces or extends the text of the page.
    """

    records: Annotated[str | Path, Cli(Path, argument=True)] = Field(default=RECORDS, kw_only=False)
    """Folder of the records."""
    output: Annotated[str | Path, Cli(Path)] = "results.md"
    """Markdown file to write. Its figures are written to a folder of the same name next to it."""

    def run(self) -> Path:
        """Write the page."""
        from clusterns.lab.report import write_report

        return write_report(Path(self.records), Path(self.output))

    def show(self, result: Path) -> None:
        """Print the name of the page."""
        stdout.print(str(result), soft_wrap=True)


lab_table = function(LabTableRequest)
lab_figures = function(LabFiguresRequest)
lab_record = function(LabRecordRequest)
lab_restore = function(LabRestoreRequest)
lab_report = function(LabReportRequest)
