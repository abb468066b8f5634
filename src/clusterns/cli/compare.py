"""``clusterns compare``: several models side by side, and which differences are significant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clusterns.cli.options import Json
from clusterns.errors import UserError


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
    rounds: Annotated[
        int, typer.Option(min=1, help="Number of resamples of the paired bootstrap.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the resampling.")] = 0,
    as_json: Json = False,
) -> None:
    """Show models side by side, the best score in bold, and test the differences between them.

    STS and transfer sets and your own pairs are tested by a paired bootstrap over their examples. A
    difference is significant if its two-sided p-value, adjusted by Holm's method for all comparisons
    made, is at most 5 %. This ignores variance across training seeds, so it compares these models, not
    the methods that trained them.
    """
    outputs = output or []
    for path in outputs:
        if path.suffix.lower() not in (".md", ".tex", ".json"):
            raise UserError(f"--output {path}: comparisons are written as .md, .tex or .json.")

    from clusterns.console import log, print_json, stdout
    from clusterns.evaluation.catalog import EvaluationData
    from clusterns.evaluation.results import read_results
    from clusterns.evaluation.tables import published_rows, results_tables
    from clusterns.files import write_json
    from clusterns.tables import write_tables

    evaluation_data = EvaluationData(data)
    found = [(path, model) for path in runs for model in read_results(path)]
    models = [model for _, model in found]
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        for path, model in found:
            model.name = f"{model.name} ({path})"
    tables = results_tables(models, published_rows if published else lambda suite: {})
    differences: list[dict[str, Any]] = []
    if len(models) > 1:
        from clusterns.evaluation.compare import (
            difference_table,
            find_differences,
            gold_scores,
        )

        gold = gold_scores(models, evaluation_data.pairs)
        comparison = find_differences(models, gold, rounds, seed, progress=True)
        differences = [one.plain() for one in comparison.differences]
        if differences:
            tables.append(difference_table(comparison))
        else:
            for note in comparison.notes or ["Not tested: the models have no set in common."]:
                log(note)
    if as_json:
        print_json({"models": [model.plain() for model in models], "differences": differences})
    else:
        for table in tables:
            table.show(stdout)
    for path in outputs:
        if path.suffix.lower() == ".json":
            write_json(path, differences)
        else:
            write_tables(path, tables)
        log(f"Written: {path}")
    if picture:
        from clusterns.evaluation.plots import plot_alignment_uniformity

        plot_alignment_uniformity(models, picture)
        log(f"Written: {picture}")
