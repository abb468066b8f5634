"""A lab that takes seconds: a tiny base, a tiny text, eight steps."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.helpers.commands import Ran, run_cli


def fill(folder: Path) -> Path:
    """Write a text, and pairs to validate on."""
    words = ["river", "bridge", "engine", "poem", "market", "winter", "doctor", "garden"]
    lines = [
        f"the {a} near the {b} was seen by {i} people"
        for i in range(8)
        for a in words
        for b in words
    ]
    (folder / "corpus.txt").write_text("\n".join(lines), "utf-8")
    pairs = [f"the {a} was old,an old {b},{5 if a == b else 1}" for a in words for b in words]
    (folder / "pairs.csv").write_text("\n".join(["sentence1,sentence2,score", *pairs]), "utf-8")
    return folder


def write(place: Path, base: Path, **more: object) -> Path:
    """Write an experiment of two trials."""
    values = {
        "title": "Two methods",
        "corpus": str(place / "corpus.txt"),
        "evaluate": [],
        "seeds": 1,
        "small": {
            "base": str(base), "max_steps": 8, "eval_steps": 2, "log_steps": 1, "batch_size": 8,
            "heldout": 20, "dev": str(place / "pairs.csv"), "learning_rate": "1e-2",
        },
        "table": {"columns": {"dev": "dev", "before": "base"}},
        "compare": [["ClusterNS", "SimCSE"]],
        "compare_by": "dev",
        "figures": {
            "dev": {"kind": "curves", "values": ["eval_pairs_spearman"]},
            "none": {"kind": "geometry"},
        },
        "rows": {
            "SimCSE": {"settings": {"method": "simcse"}},
            "ClusterNS": {"settings": {"method": "clusterns", "clusters": 4, "sigma": 0.99}},
        },
        **more,
    }  # fmt: skip
    file = place / "mine.yaml"
    file.write_text(yaml.safe_dump(values), "utf-8")
    return file


def lab(*arguments: object) -> Ran:
    """Run ``clusterns lab`` in this process; its trials run in processes of their own."""
    return run_cli("lab", *arguments)


def scores(output: Path) -> dict[str, dict[str, float]]:
    """The values of all trials that have a result."""
    return {
        file.parent.name: json.loads(file.read_text("utf-8"))["values"]
        for file in sorted(output.glob("cells/*/result.json"))
    }
