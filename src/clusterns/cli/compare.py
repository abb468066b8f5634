"""``clusterns compare``: several models side by side, and which differences are real."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clusterns.errors import UserError

if TYPE_CHECKING:
    from clusterns.evaluation.results.compare import Difference


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Run folders that were evaluated, or result files that `clusterns evaluate "
            "--output FILE.json` wrote."
        ),
    ],
    published: Annotated[
        bool, typer.Option("--published", help="Show the rows that the paper printed above them.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the evaluation data, for the gold scores that the test on STS needs. "
            "Without it: the folder that the variable CLUSTERNS_DATA names.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            help="Write the comparison to this file: .md, .tex, or .json (the differences). May be "
            "given several times.",
            show_default=False,
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="Draw alignment and uniformity of the models to this .png, .svg or .pdf file; "
            "they need the suites sts and geometry.",
            show_default=False,
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(min=100, help="Resamples of the paired bootstrap.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the resampling.")] = 0,
) -> None:
    """Put models side by side, the best in bold, and say which differences are real.

    Every two models are compared on the same resampled rows (a paired bootstrap): a difference is
    called real where its 95 % interval leaves out zero. The interval is over rows of the test
    sets; it does not know how much a method moves between training seeds.
    """
    outputs = output or []
    for path in outputs:
        if path.suffix.lower() not in (".md", ".tex", ".json"):
            raise UserError(f"--output {path}: comparisons are written as .md, .tex or .json.")

    from dataclasses import asdict

    from clusterns.console import answers, say
    from clusterns.evaluation.data.find import EvaluationData
    from clusterns.evaluation.results.compare import difference_table, find_differences, gold_scores
    from clusterns.evaluation.results.published import published_rows
    from clusterns.evaluation.results.results import Results
    from clusterns.evaluation.results.tables import results_tables
    from clusterns.files import write_json
    from clusterns.tables import write_tables

    models = [Results.read(path) for path in runs]
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        for model, path in zip(models, runs, strict=True):
            model.name = f"{model.name} ({path})"
    tables = results_tables(models, published_rows if published else lambda suite: {})
    differences: list[Difference] = []
    if len(models) > 1:
        gold, without = gold_scores(models, EvaluationData(data).pairs)
        if without:
            say(
                f"No test on {', '.join(without)}: the gold scores are not at hand (--data), or "
                "not those that the models were evaluated on."
            )
        differences = find_differences(models, gold, rounds, seed)
    if differences:
        tables.append(difference_table(differences))
    for table in tables:
        table.show(answers)
    for path in outputs:
        if path.suffix.lower() == ".json":
            write_json(path, [asdict(one) | {"real": one.real} for one in differences])
        else:
            write_tables(path, tables)
        say(f"Written: {path}")
    if picture:
        from clusterns.evaluation.results.plots import plot_alignment_uniformity

        plot_alignment_uniformity(models, picture)
        say(f"Written: {picture}")
