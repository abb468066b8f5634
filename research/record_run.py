"""Keep the record of a run under results/: recipe, versions, metrics, results. No weights, no paths.

python research/record_run.py runs/mine wikipedia/simcse-dropout
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from clusterns.lab.records import Record, without_folders

RESULTS = Path(__file__).parents[1] / "results"
# By the digest of the weights.
MINIBERTS = {
    "minibert b153196ae02ef996": "minibert-1",
    "minibert 2050d5de157c3209": "minibert-3",
}


def main() -> None:
    keep(Path(sys.argv[1]), sys.argv[2])


def keep(run: Path, name: str) -> None:
    """Copy the record of ``run`` to ``results/name``."""
    target = RESULTS / name
    target.mkdir(parents=True, exist_ok=True)
    for file in ("metrics.jsonl", "results.json", "proof.json"):
        if (run / file).exists():
            shutil.copy(run / file, target / file)
    recipe = without_folders(yaml.safe_load((run / "recipe.yaml").read_text("utf-8")))
    (target / "recipe.yaml").write_text(yaml.safe_dump(recipe, sort_keys=False), "utf-8")
    record = json.loads((run / "run.json").read_text("utf-8"))
    (target / "run.json").write_text(json.dumps(without_folders(record), indent=2) + "\n", "utf-8")


def base_of(record: Mapping[str, Any]) -> str:
    """The base that a run started from, and which version of it; the first one, in what is from before digests
    were kept."""
    base = record.get("base")
    return MINIBERTS.get(base, base) if base else "minibert-1"


def bases_of(record: Record) -> str:
    """What the cells of an experiment started from."""
    found = {base_of(one.result) for line in record.lines for one in line.outcomes}
    return ", ".join(sorted(found))


if __name__ == "__main__":
    main()
