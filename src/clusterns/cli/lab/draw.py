"""``clusterns lab table`` and ``figures``: what an experiment shows."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clusterns.cli.lab.options import (
    LAB,
    BaseOption,
    Budget,
    BudgetOption,
    CorpusOption,
    LabFolder,
    Name,
    OnlyOption,
    SeedsOption,
    find_trials,
)
from clusterns.errors import UserError

if TYPE_CHECKING:
    from clusterns.lab.trial import Trial

SUFFIXES = {".md": "md", ".tex": "tex", ".html": "html"}


class Format(str, Enum):
    """What can be asked for with --format."""

    markdown = "md"
    latex = "tex"
    html = "html"


def table(
    experiment: Name,
    format: Annotated[
        Format | None,
        typer.Option(help="Without it: what --output ends in, or Markdown.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Write to this .md, .tex or .html file.", show_default=False),
    ] = None,
    budget: BudgetOption = Budget.small,
    seeds: SeedsOption = None,
    base: BaseOption = None,
    corpus: CorpusOption = None,
    only: OnlyOption = None,
    lab: LabFolder = LAB,
) -> None:
    """Print the table of an experiment: mean and standard deviation over seeds, the paper's rows beside.

    Every difference that the experiment names is tested over seeds and over the rows of the test
    sets, corrected for the number of comparisons. What is missing is said.

    For a paper:   clusterns lab table main --output main.tex
    """
    form = _form(format, output)
    found, trials = find_trials(experiment, budget, seeds, base, corpus, only, lab)
    _check_begun(trials, lab)

    from clusterns.console import log, stdout
    from clusterns.evaluation.catalog import EvaluationData
    from clusterns.files import atomic_file
    from clusterns.lab.differences import find_differences
    from clusterns.lab.outcomes import gather
    from clusterns.lab.tables import differences_table, scores_table
    from clusterns.tables import tables_as

    lines = gather(found, trials)
    tables = [scores_table(found, lines)]
    if found.compare:
        differences = find_differences(
            found.compare, found.compare_by, lines, EvaluationData().pairs
        )
        tables.append(differences_table(found, differences))
    if found.cases:
        from clusterns.cli.quiet import quiet_libraries
        from clusterns.lab.cases import case_tables

        quiet_libraries()
        tables += case_tables(trials, found.cases)
    text = tables_as(form, tables)
    if output is None:
        stdout.print(text, soft_wrap=True, end="")
        return
    with atomic_file(output) as temporary:
        temporary.write_text(text, "utf-8")
    log(f"Written: {output}")


def _form(format: Format | None, output: Path | None) -> str:
    if format is not None:
        return format.value
    if output is None:
        return Format.markdown.value
    if output.suffix.lower() not in SUFFIXES:
        raise UserError(f"--output {output}: tables are written as .md, .tex or .html.")
    return SUFFIXES[output.suffix.lower()]


def figures(
    experiment: Name,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder to write to. Without it: figures in --lab.", show_default=False),
    ] = None,
    budget: BudgetOption = Budget.small,
    seeds: SeedsOption = None,
    base: BaseOption = None,
    corpus: CorpusOption = None,
    only: OnlyOption = None,
    lab: LabFolder = LAB,
) -> None:
    """Draw the figures of an experiment as SVG and PNG, with the spread over seeds.

    clusterns lab figures main
    """
    found, trials = find_trials(experiment, budget, seeds, base, corpus, only, lab)
    if not found.figures:
        raise UserError(f"{experiment} declares no figures: docs/lab.md explains the key.")
    _check_begun(trials, lab)

    from clusterns.console import log, stdout
    from clusterns.lab.figures import draw
    from clusterns.lab.outcomes import gather

    lines = gather(found, trials)
    for name, spec in found.figures.items():
        written = draw(name, spec, lines, output or lab / "figures")
        for path in written:
            stdout.print(str(path), soft_wrap=True)
        if not written:
            log(f"{name}: nothing to draw yet.")


def _check_begun(trials: list[Trial], lab: Path) -> None:
    if not any(trial.is_done for trial in trials):
        raise UserError(
            f"{lab} has no result of this experiment: make them with `clusterns lab run`, with the same options."
        )
