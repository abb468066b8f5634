"""Write docs/results.md and its pictures from the records in results/lab/: no number by hand.

python scripts/write_lab_results.py
"""

from __future__ import annotations

from pathlib import Path

from clusterns.evaluation.results.bootstrap import LEVEL
from clusterns.evaluation.results.published import published_rows
from clusterns.lab.differences import Difference
from clusterns.lab.engines.driver import duration
from clusterns.lab.experiment import experiment_names
from clusterns.lab.figures import draw
from clusterns.lab.records import Record
from clusterns.lab.tables import differences_table, scores_table
from clusterns.tables import Table
from lab_findings import budget, clusters, loss, searches
from record_run import bases_of

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "results" / "lab"
FEWEST_SEEDS = 3
HEAD = """# Results

Written by `scripts/write_lab_results.py` from the records in `results/lab`, which hold every cell with its settings,
versions, command, curves and scores; `clusterns lab run NAME` makes them again ([how](lab.md)). Numbers of the paper
are as printed there, for BERT-base or RoBERTa-base and the full budget: only differences between rows can be compared.

## What holds here

A claim *holds* where the first row wins in every one of at least three seeds and the difference is significant over
the rows of the test sets (p at most 5 %, corrected, with the answers of at least three seeds at hand); it is *reversed*
where both are so the other way round; else it is *not shown*. Few seeds cannot make a difference significant over
seeds, whatever it is: the tables below say how far they can.
"""


def main() -> None:
    write(RECORDS, ROOT / "docs")


def write(records: Path, docs: Path) -> None:
    """Write the page into ``docs``, the pictures beside it; nothing where there are no records."""
    order = experiment_names()
    found = [Record.read(path) for path in sorted(records.glob("*.jsonl"))]
    found.sort(key=lambda one: order.index(one.name) if one.name in order else len(order))
    if found:
        parts = [HEAD, verdicts(found).markdown()]
        parts += [part(records, docs) for part in (clusters, loss, budget, searches)]
        parts += [section(one, docs) for one in found]
        (docs / "results.md").write_text("\n".join(filter(None, parts)), "utf-8")


def verdicts(records: list[Record]) -> Table:
    """Every difference that was tested, the paper's beside it."""
    columns = ["experiment", "base", "in the paper", "here", "won seeds", "p, rows", "verdict"]
    table = Table("", columns, mark_best=False, corner="Claim")
    for record in records:
        for one in record.differences:
            printed = in_the_paper(record, one)
            wins, verdict = judge(record, one)
            table.rows.append(
                (
                    f"{one.first} over {one.second}",
                    [
                        f"[{record.name}](#{record.name})",
                        bases_of(record),
                        None if printed is None else f"{printed:+.2f}",
                        f"{one.points:+.2f}",
                        f"{wins} of {one.seeds}",
                        None if one.adjusted_rows is None else f"{one.adjusted_rows:.3f}",
                        verdict,
                    ],
                )
            )
    return table


def in_the_paper(record: Record, one: Difference) -> float | None:
    """The difference that the paper printed, on the same column."""
    table = record.experiment.table
    rows = published_rows(table.published or table.suite or "")
    beside = {line.label: line.beside for line in record.lines}
    columns = {value: name for name, value in table.columns.items()}
    by = record.experiment.compare_by
    column = columns.get(by, by.split("/")[-1])
    first, second = (rows.get(beside.get(label) or "", {}) for label in (one.first, one.second))
    return first[column] - second[column] if column in first and column in second else None


def judge(record: Record, one: Difference) -> tuple[int, str]:
    """In how many seeds the first one won, and what is to be said of it."""
    by = record.experiment.compare_by
    lines = {line.label: line.values(by) for line in record.lines}
    first, second = lines[one.first], lines[one.second]
    seeds = first.keys() & second.keys()
    wins = sum(first[seed] > second[seed] for seed in seeds)
    significant = one.adjusted_rows is not None and one.adjusted_rows <= LEVEL
    # Records from before this was counted had the answers of all seeds.
    if min(len(seeds), one.seeds_rows or one.seeds) < FEWEST_SEEDS:
        return wins, "not shown"
    if significant and wins == len(seeds) and one.points > 0:
        return wins, "holds"
    if significant and wins == 0 and one.points < 0:
        return wins, "reversed"
    return wins, "not shown"


def section(record: Record, docs: Path) -> str:
    """An experiment: what was asked, tables, pictures, how it was made."""
    experiment = record.experiment
    source = f" ({experiment.source} of the paper)" if experiment.source else ""
    parts = [f"## {record.name}\n", f"{experiment.about}{source}\n"]
    parts.append(scores_table(experiment, record.lines).markdown())
    if experiment.compare:
        parts.append(differences_table(experiment, record.differences).markdown())
    for name, drawing in experiment.figures.items():
        if draw(name, drawing, record.lines, docs / "results", ("svg",)):
            parts.append(f"![{experiment.title}: {name}](results/{name}.svg)\n")
    return "\n".join([*parts, made(record)])


def made(record: Record) -> str:
    """How the cells were made."""
    results = [one.result for line in record.lines for one in line.outcomes]
    seconds = sum(result["processor_seconds"] for result in results)
    versions = {
        f"{name} {result['record']['versions'][name]}"
        for result in results
        for name in ("torch", "sentence-transformers")
    }
    corpora = {str(result["corpus"]) for result in results}
    return (
        f"*{len(results)} cells, budget {record.budget}, {duration(seconds)} of processor time; base "
        f"{bases_of(record)}; text {', '.join(sorted(corpora))}; {', '.join(sorted(versions))}. "
        f"Record: `results/lab/{record.name}.jsonl`.*\n"
    )


if __name__ == "__main__":
    main()
