"""Write results/reference/README.md from the records beside it: no number is written by hand.

python scripts/results_table.py
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from clusterns.evaluation.catalog import EvaluationData
from clusterns.evaluation.compare import difference_table, find_differences, gold_scores
from clusterns.evaluation.plots import (
    alignment_uniformity_points,
    plot_alignment_uniformity,
)
from clusterns.evaluation.results import Results
from clusterns.evaluation.tables import results_tables
from clusterns.tables import Table

HEAD = """# Reference models

On all suites, written by `scripts/results_table.py` from the records beside this
file. Judge `minibert`, here version 1 of the small encoder inside the package, against itself before and after
the quickstart, which trains it on docstrings alone; MiniLM was trained with supervision and GloVe
is the floor.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--folder", type=Path, default=Path(__file__).parents[1] / "results" / "reference"
    )
    folder = parser.parse_args().folder
    models = [Results.read(path) for path in sorted(folder.glob("*.json"))]
    models.sort(key=lambda model: model.suites["sts"].average or 0)
    gold = gold_scores(models, EvaluationData().pairs)
    comparison = find_differences(models, gold, progress=True)
    tables = [*results_tables(models), difference_table(comparison)]
    tables.insert(1, subset_table(models))
    parts = [HEAD, *(table.markdown() for table in tables)]
    if alignment_uniformity_points(models):
        plot_alignment_uniformity(models, folder / "alignment-uniformity.png")
        parts.append("![Alignment and uniformity of the models](alignment-uniformity.png)\n")
    parts.append("## Records\n")
    parts += [record_line(model) for model in models]
    (folder / "README.md").write_text("\n".join(parts), "utf-8")


def subset_table(models: list[Results]) -> Table:
    """STS12-16 subset by subset, a row for each."""
    names = [model.name for model in models]
    table = Table("STS subsets (Spearman x100)", names, mark_best=False)
    for name, one in models[0].suites["sts"].sets.items():
        for subset in one.details:
            values = [model.suites["sts"].sets[name].details[subset] for model in models]
            table.rows.append((f"{name} {subset}", [*values]))
    return table


def record_line(model: Results) -> str:
    """How a record was made."""
    record = model.record
    versions = ", ".join(
        f"{name} {number}" for name, number in record["versions"].items() if number
    )
    return (
        f"- **{model.name}**: `{shlex.join(record['command'])}`, seed {record['seed']}, "
        f"{record['date'][:10]}, Python {record['python']}, {versions}.\n"
    )


if __name__ == "__main__":
    main()
