"""Write docs/results.md and its pictures from the records in results/lab/: no number by hand.

python scripts/write_lab_results.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clusterns.evaluation.results.bootstrap import LEVEL
from clusterns.evaluation.results.published import published_rows
from clusterns.files import read_json
from clusterns.lab.differences import Difference
from clusterns.lab.engines.driver import duration
from clusterns.lab.experiment import SMALL, experiment_names
from clusterns.lab.figures import draw
from clusterns.lab.records import Record
from clusterns.lab.tables import differences_table, scores_table
from clusterns.tables import Table
from record_run import base_of

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "results" / "lab"
# Written by diagnose_clusters.py.
CLUSTERS = "clusters-of-dbpedia.json"
# Written by record_lab.py.
SEARCHES = "searches"
FEWEST_SEEDS = 3
HEAD = """# Results

Written by `scripts/write_lab_results.py` from the records in `results/lab`, which hold every cell with its settings,
versions, command, curves and scores; `clusterns lab run NAME` makes them again ([how](lab.md)). Numbers of the paper
are as printed there, for BERT-base or RoBERTa-base and the full budget: only differences between rows can be compared.

## What holds here

A claim *holds* where the first row wins in every one of at least three seeds and the difference is significant over
the rows of the test sets (p at most 5 %, corrected); it is *reversed* where both are so the other way round; else it is
*not shown*. Few seeds cannot make a difference significant over seeds, whatever it is: the tables below say how far
they can.
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
        if (records / CLUSTERS).is_file():
            parts.append(clusters(read_json(records / CLUSTERS)))
        if tried := [read_json(path) for path in sorted((records / SEARCHES).glob("*.json"))]:
            parts.append(searches(tried))
        parts += [section(one, docs) for one in found]
        (docs / "results.md").write_text("\n".join(parts), "utf-8")


def verdicts(records: list[Record]) -> Table:
    """Every difference that was tested, the paper's beside it."""
    columns = ["experiment", "in the paper", "here", "won seeds", "p, rows", "verdict"]
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
    if len(seeds) < FEWEST_SEEDS:
        return wins, "not shown"
    if significant and wins == len(seeds) and one.points > 0:
        return wins, "holds"
    if significant and wins == 0 and one.points < 0:
        return wins, "reversed"
    return wins, "not shown"


CLUSTERS_HEAD = """## What the clusters are worth

ClusterNS trained on DBpedia's texts, with crops, in the small budget; looked at after the last step with 2,048 texts
that it did not train on, in batches as in training, one seed. *AMI* of the clusters of a batch with the 14 classes.
*Found*: sentences with another member in their cluster, the false negatives; *precision*: of these pairs, how many
are of one class (*by chance*: of all pairs); *recall*: of the pairs of one class, how many are found. *Hard*:
similarity to the second nearest centroid, next to that of the mean and of the hardest sentence of another class in
the batch; *share*: of the denominator without the positive, what the centroids contribute. Percentages, but for the
similarities.
"""
# About the committed record: to be read again when that is made again.
CLUSTERS_SAY = """\
With the paper's gamma the centroids hardly move in so few steps, wherever they start: in batches of 64 the second
nearest one is no nearer than a sentence of another class that is taken at random, and the centroids count for next to
nothing. So ClusterNS differs little from SimCSE here. A hundred times that gamma lets them follow: clusters agree
with the classes far better, most false negatives are found, and the hard negatives are hard and count for more than
the batch. That is too much: STS falls. Ten times that gamma has the best average of all, though not with every seed,
and it was picked by this very table ([momentum](#momentum)).
"""
SEEN = {
    "AMI": ("ami", 1),
    "found": ("found", 1),
    "precision": ("precision", 1),
    "by chance": ("same_class", 1),
    "recall": ("recall", 1),
    "hard": ("hard_negative", 2),
    "mean other": ("mean_negative", 2),
    "hardest other": ("hardest_negative", 2),
    "share": ("share_of_denominator", 1),
}


def clusters(record: dict[str, Any]) -> str:
    """What diagnose_clusters.py saw at the end of each of its runs."""
    table = Table("", ["steps", *SEEN], mark_best=False, corner="ClusterNS")
    for name, one in record["settings"].items():
        step, seen = list(one["looks"].items())[-1]
        table.rows.append(
            (name, [step, *(f"{seen[key]:.{digits}f}" for key, digits in SEEN.values())])
        )
    made = f"*Seed {record['seed']}, `{record['command']}`. Record: `results/lab/{CLUSTERS}`.*\n"
    return "\n".join([CLUSTERS_HEAD, table.markdown(), CLUSTERS_SAY, made])


SEARCHES_HEAD = """## What was searched

Trials of Optuna's sampler on STS-B dev with seed 0, which no table uses. The first trial is the recipe as it is. Compare
methods that were given as many. *Range*: over all trials.
"""


def searches(records: list[dict[str, Any]]) -> str:
    """What `clusterns lab search` found for each method."""
    columns = ["with", "trials", "recipe as it is", "best", "range", "settings of the best"]
    table = Table("", columns, mark_best=False, corner="Method")
    for record in records:
        scored = {one["number"]: one for one in record["trials"] if one["value"] is not None}
        values, best = [one["value"] for one in scored.values()], scored[record["best"]]
        changed = {
            key: value
            for key, value in record["settings"].items()
            if value != SMALL.get(key) and key not in ("method", "seed")
        }
        table.rows.append(
            (
                record["method"],
                [
                    _listed(changed),
                    str(len(record["trials"])),
                    f"{scored[0]['value']:.2f}",
                    f"{best['value']:.2f}",
                    f"{min(values):.2f} to {max(values):.2f}",
                    _listed(best["settings"]),
                ],
            )
        )
    commands = "; ".join(f"`{' '.join(one['record']['command'])}`" for one in records)
    bases = ", ".join(sorted({base_of(one) for one in records}))
    made = f"*{commands}; base {bases}. Records: `results/lab/{SEARCHES}`.*\n"
    return "\n".join([SEARCHES_HEAD, table.markdown(), made])


def _listed(settings: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in settings.items()
    )


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
    bases = {base_of(result) for result in results}
    return (
        f"*{len(results)} cells, budget {record.budget}, {duration(seconds)} of processor time; base "
        f"{', '.join(sorted(bases))}; text {', '.join(sorted(corpora))}; {', '.join(sorted(versions))}. "
        f"Record: `results/lab/{record.name}.jsonl`.*\n"
    )


if __name__ == "__main__":
    main()
