"""Write docs/results.md and its pictures from the records in results/lab/: no number by hand.

python scripts/write_lab_results.py
"""

from __future__ import annotations

from pathlib import Path

from clusterns.evaluation.stats import LEVEL
from clusterns.evaluation.tables import published_rows
from clusterns.lab.differences import Difference
from clusterns.lab.experiment import experiment_names
from clusterns.lab.figures import draw
from clusterns.lab.launch import duration
from clusterns.lab.records import Record, recorded_name
from clusterns.lab.tables import differences_table, p_over_rows, scores_table
from clusterns.tables import Table
from lab_findings import budget, clusters, loss, searches, seeds_over_rows
from record_run import bases_of

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "results" / "lab"
FEWEST_SEEDS = 3
NOT_SHOWN = "not shown"
HEAD = """# Results

Written by `scripts/write_lab_results.py` from the records in `results/lab`, which hold every cell with its settings,
versions, command, curves and scores; `clusterns lab run NAME` makes them again ([how](lab.md)). Numbers of the paper
are as printed there, for BERT-base or RoBERTa-base and the full budget: only differences between rows can be compared.

## What holds here

There are two kinds of chance. A test over the rows of the test sets (*p, rows*) takes the trained models as they are
{seeds}. Over seeds (*p, seeds*), five or fewer cannot make a difference significant at 5 %, whatever it is. So a claim
*holds* (or is *reversed*) where the difference is significant over rows and over seeds, both corrected within its
experiment; it is seen *in all seeds* (or *in none*) where the first row wins (or loses) with every one of at least
three seeds and the difference is significant over rows, with the answers of three seeds at hand; else it is *not
shown*. Of two methods that are equal, one wins with all of three seeds in a quarter of all cases, with all of five in
one of sixteen.
"""
SAME = """\
The same cells stand under two names, and count once: {}.
"""


def main() -> None:
    write(RECORDS, ROOT / "docs")


def write(records: Path, docs: Path) -> None:
    """Write the page into ``docs``, the pictures beside it; nothing where there are no records."""
    order = experiment_names()
    found = [Record.read(path) for path in sorted(records.glob("*.jsonl"))]
    found.sort(key=lambda one: order.index(one.name) if one.name in order else len(order))
    if found:
        parts = [
            HEAD.format(seeds=seeds_over_rows(records)),
            verdicts(found).markdown(),
            the_same(found),
        ]
        parts += [part(records, docs) for part in (clusters, loss, budget, searches)]
        parts += [section(one, docs) for one in found]
        (docs / "results.md").write_text("\n".join(filter(None, parts)), "utf-8")


def verdicts(records: list[Record]) -> Table:
    """Every difference that was tested, the paper's beside it."""
    columns = [
        "experiment", "base", "in the paper", "here", "won seeds", "p, rows", "p, seeds", "verdict",
    ]  # fmt: skip
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
                        p_over_rows(one),
                        None if one.adjusted_seeds is None else f"{one.adjusted_seeds:.3f}",
                        verdict,
                    ],
                )
            )
    return table


def in_the_paper(record: Record, one: Difference) -> float | None:
    """The difference that the paper printed, on the same column."""
    table = record.experiment.table
    rows = published_rows(table.published or table.suite or "")
    beside = {line.label: line.paper_row for line in record.lines}
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
    over_rows, over_seeds = (
        p is not None and p <= LEVEL for p in (one.adjusted_rows, one.adjusted_seeds)
    )
    if not over_rows or min(len(seeds), one.seeds_rows) < FEWEST_SEEDS:
        return wins, NOT_SHOWN
    if over_seeds:
        return wins, "holds" if one.points > 0 else "reversed"
    return wins, {len(seeds): "in all seeds", 0: "in none"}.get(wins, NOT_SHOWN)


def the_same(records: list[Record]) -> str:
    """Claims that stand on the very same cells."""
    named: dict[tuple[frozenset[str], ...], list[str]] = {}
    for record in records:
        cells = {
            line.label: {one.seed: recorded_name(one.result) for one in line.outcomes}
            for line in record.lines
        }
        for one in record.differences:
            first, second = cells[one.first], cells[one.second]
            both = first.keys() & second.keys()
            key = tuple(frozenset(each[seed] for seed in both) for each in (first, second))
            named.setdefault(key, []).append(f"{one.first} over {one.second} ({record.name})")
    groups = [" and ".join(names) for names in named.values() if len(names) > 1]
    return SAME.format("; ".join(groups)) if groups else ""


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
