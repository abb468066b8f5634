"""How often two seeds of one method differ "significantly" over the rows of the test sets.

    python scripts/seeds_over_rows.py [--lab runs/lab]

A test over rows holds both models as they are. Trained anew with another seed, a model is another one; so what this
test finds between two seeds of one method is what it would find between two methods that are equal. Needs
CLUSTERNS_DATA. Writes `results/lab/seeds-over-rows.json`, which `write_lab_results.py` reads.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from clusterns.evaluation.catalog import EvaluationData
from clusterns.evaluation.stats import LEVEL
from clusterns.files import write_json
from clusterns.lab.differences import find_differences
from clusterns.lab.experiment import load_experiment
from clusterns.lab.outcomes import Line, gather
from clusterns.lab.trial import trials_of
from clusterns.record import make_record

RECORD = Path(__file__).parents[1] / "results" / "lab" / "seeds-over-rows.json"
ROWS = ("SimCSE", "ClusterNS")


def pairs_of_seeds(line: Line) -> tuple[list[Line], list[tuple[str, str]]]:
    """Every seed as a line of its own, all with one seed, and every two of them."""
    alone = [
        Line(f"{line.label} {one.seed}", line.row, outcomes=[replace(one, seed=0)])
        for one in line.outcomes
        if one.predictions is not None
    ]
    return alone, [(a.label, b.label) for a, b in combinations(alone, 2)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lab", type=Path, default=Path("runs/lab"))
    lab = parser.parse_args().lab.resolve()
    experiment = load_experiment("main")
    find = EvaluationData().pairs
    methods = {}
    for line in gather(experiment, trials_of(experiment, lab, "small", only=ROWS)):
        alone, pairs = pairs_of_seeds(line)
        found = find_differences(pairs, experiment.compare_by, alone, find)
        tested = [one for one in found if one.p_rows is not None]
        methods[line.label] = {
            "pairs": len(tested),
            "significant": sum((one.p_rows or 1) <= LEVEL for one in tested),
            "differences": [one.plain() for one in tested],
        }
    write_json(
        RECORD,
        {
            "command": "python scripts/seeds_over_rows.py",
            "level": LEVEL,
            "versions": make_record()["versions"],
            "methods": methods,
        },
    )
    print(RECORD)


if __name__ == "__main__":
    main()
