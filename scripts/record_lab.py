"""Keep the record of an experiment under results/lab/: all numbers of its cells, no vectors, no paths.

python scripts/record_lab.py main --lab runs/lab
python scripts/record_lab.py searches --lab runs/lab      (all that `clusterns lab search` did there)
"""

from __future__ import annotations

import argparse
from pathlib import Path

from clusterns.evaluation.catalog import EvaluationData
from clusterns.files import read_json, write_json
from clusterns.lab.differences import find_differences
from clusterns.lab.experiment import BUDGETS, load_experiment, short_name
from clusterns.lab.outcomes import gather
from clusterns.lab.records import Record, without_folders
from clusterns.lab.trial import trials_of

RESULTS = Path(__file__).parents[1] / "results" / "lab"
SEARCHES = "searches"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment")
    parser.add_argument("--lab", type=Path, default=Path("runs/lab"))
    parser.add_argument("--budget", choices=BUDGETS, default="small")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--base")
    parser.add_argument("--corpus")
    parser.add_argument("--only", action="append", default=[])
    asked = parser.parse_args()
    if asked.experiment == SEARCHES:
        keep_searches(asked.lab)
        return
    experiment = load_experiment(asked.experiment)
    cells = trials_of(
        experiment, asked.lab.resolve(), asked.budget, seeds=asked.seeds, base=asked.base,
        corpus=asked.corpus, only=asked.only,
    )  # fmt: skip
    lines = gather(experiment, cells)
    differences = find_differences(
        experiment.compare, experiment.compare_by, lines, EvaluationData().pairs
    )
    record = Record(short_name(asked.experiment), asked.budget, experiment, lines, differences)
    kept = RESULTS / f"{record.name}.jsonl"
    fewer = lost(Record.read(kept), record) if kept.is_file() else []
    if fewer:
        raise SystemExit(
            f"{kept} has more cells of {', '.join(fewer)}: put them into the lab first (`clusterns lab restore`), "
            "or remove it."
        )
    print(record.write(RESULTS))


def lost(kept: Record, record: Record) -> list[str]:
    """The lines of which ``record`` has fewer cells than the one that is kept."""
    now = {line.label: len(line.outcomes) for line in record.lines}
    return [line.label for line in kept.lines if len(line.outcomes) > now.get(line.label, 0)]


def keep_searches(lab: Path) -> None:
    """A file for each search, by its method and what decided its trials."""
    for file in sorted(lab.glob("search/*/record.json")):
        target = RESULTS / SEARCHES / f"{file.parent.name}.json"
        write_json(target, without_folders(read_json(file)))
        print(target)


if __name__ == "__main__":
    main()
