"""``clusterns compare``: several models side by side, with their differences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from annotated_types import Ge
from pydantic import Field

from clusterns.commands.options import (
    Files,
    Json,
    OptionalPath,
    Texts,
    as_list,
    as_paths,
    check_suffixes,
)
from clusterns.commands.request import Request, function
from clusterns.console import log, print_json, stdout

if TYPE_CHECKING:
    from clusterns.evaluation.compare import Difference
    from clusterns.evaluation.results import Results
    from clusterns.tables import Table


class Compared(NamedTuple):
    """Models, the differences between them, and tables of both."""

    models: list[Results]
    differences: list[Difference]
    tables: list[Table]


class CompareRequest(Request):
    """Show models side by side, and estimate the differences between them.

    On STS, transfer and retrieval sets and your own pairs and queries, each difference has a confidence interval from
    a paired bootstrap over the examples; all intervals hold jointly with 95 %. One that excludes zero shows that the
    models differ. Search modes of a collection are compared like models. This ignores variance across training
    seeds: it compares these models, not the methods that trained them.
    """

    models: Texts = Field(kw_only=False)
    """Run folders that were evaluated, or result files that `clusterns evaluate --output FILE.json` wrote."""
    published: bool = False
    """Show the rows that the paper printed above the models."""
    data: OptionalPath = None
    """Folder of the evaluation data, for the gold scores that STS sets need. Default: the folder in the
    variable CLUSTERNS_DATA."""
    output: Files = ()
    """Write the comparison to this file: .md, .tex, or .json (the differences). May be repeated."""
    picture: OptionalPath = None
    """Plot alignment and uniformity of the models to this .png, .svg or .pdf file; needs the suites sts and
    geometry."""
    n_resamples: Annotated[int, Ge(1)] = 1000
    """Number of resamples of the bootstrap."""
    seed: Annotated[int, Ge(0)] = 0
    """Random seed of the bootstrap."""

    def run(self) -> Compared:
        """Read the results, test the differences, and write the requested files."""
        check_suffixes("--output", self.output, ".md", ".tex", ".json")
        from clusterns.evaluation.catalog import EvaluationData
        from clusterns.evaluation.compare import difference_table, find_differences, gold_scores
        from clusterns.evaluation.stored import read_results
        from clusterns.evaluation.tables import published_rows, results_tables
        from clusterns.files import write_json
        from clusterns.tables import write_tables

        data = EvaluationData(None if self.data is None else Path(self.data))
        found = [
            (name, model) for name in as_list(self.models) for model in read_results(Path(name))
        ]
        models = [model for _, model in found]
        if len({model.name for model in models}) < len(models):
            for name, model in found:
                model.name = f"{model.name} ({name})"
        tables = results_tables(models, published_rows if self.published else lambda suite: {})
        gold = gold_scores(models, data.pairs)
        comparison = find_differences(models, gold, self.n_resamples, self.seed, progress=True)
        if comparison.differences:
            tables.append(difference_table(comparison))
        elif len(models) > 1:
            for note in comparison.notes or ["Not compared: the models have no set in common."]:
                log(note)
        for path in as_paths(self.output):
            if path.suffix.lower() == ".json":
                write_json(path, [one.plain() for one in comparison.differences])
            else:
                write_tables(path, tables)
            log(f"Wrote {path}.")
        if self.picture is not None:
            from clusterns.evaluation.plots import plot_alignment_uniformity

            plot_alignment_uniformity(models, Path(self.picture))
            log(f"Wrote {self.picture}.")
        return Compared(models, comparison.differences, tables)


class CompareCommand(CompareRequest):
    as_json: Json = False

    def show(self, result: Compared) -> None:
        """Print the tables."""
        if self.as_json:
            models = [model.plain() for model in result.models]
            print_json(
                {"models": models, "differences": [one.plain() for one in result.differences]}
            )
            return
        for table in result.tables:
            table.show(stdout)


compare = function(CompareRequest)
