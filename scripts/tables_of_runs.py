"""Tables of the README and the docs that are made of recorded runs."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import yaml
from scipy.stats import spearmanr

from clusterns.lab.experiment import BUDGETS
from clusterns.lab.records import Record
from clusterns.quickstart.benchmark import MEASURES
from record_run import bases_of

SMALL = BUDGETS["small"]

RESULTS = Path(__file__).parents[1] / "results"
MAIN = RESULTS / "lab" / "main.jsonl"
STS, HALVES = "eval_STS-B-dev_spearman", "eval_heldout_halves_mrr"


def quickstart() -> str:
    folder = RESULTS / "quickstart"
    proof: dict[str, dict[str, float]] = json.loads((folder / "proof.json").read_text("utf-8"))
    run = json.loads((folder / "run.json").read_text("utf-8"))
    recipe = yaml.safe_load((folder / "recipe.yaml").read_text("utf-8"))
    lines = [
        f"| on docstrings | {' | '.join(proof)} |",
        "|---|" + "---:|" * len(proof),
    ]
    for key, label in MEASURES.items():
        values = [result[key] for result in proof.values()]
        best = max(values) if label.endswith("↑") else min(values)
        cells = [f"**{v:.3f}**" if v == best else f"{v:.3f}" for v in values]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    counts = run["corpus"]["docstrings"]
    lines += [
        "",
        f"*{counts['sentences']:,} sentences of {counts['packages']} packages, {recipe['max_steps']} steps of "
        f"{recipe['batch_size']}, positives {recipe['positives']}, seed {recipe['seed']}; {versions(run)}; one "
        "seed: small differences between the trained models are noise.*",
    ]
    return "\n".join(lines)


def table_of_systems() -> str:
    """The main table of the lab in short: every system, mean and deviation over seeds."""
    record = Record.read(MAIN)
    lines = ["| system | STS-B dev | seven STS sets, average | seeds |", "|---|---:|---:|---:|"]
    for line in record.lines:
        if line.outcomes:
            dev, average = (_spread(line.values(key)) for key in ("dev", "sts/Avg."))
            lines.append(f"| {line.label} | {dev} | {average} | {len(line.outcomes)} |")
    note = (
        f"*Base {bases_of(record)}, {SMALL['max_steps']} steps of {SMALL['batch_size']} Wikipedia sentences, Spearman "
        "x 100, mean ± standard deviation over seeds; STS-B dev chose the step. All sets, tests and figures: "
        "[docs/results.md](docs/results.md).*"
    )
    return "\n".join([*lines, "", note])


def _spread(values: dict[int, float]) -> str:
    mean = f"{statistics.mean(values.values()):.1f}"
    return f"{mean} ± {statistics.stdev(values.values()):.1f}" if len(values) > 1 else mean


def tracking() -> str:
    """How well the label-free score orders checkpoints as STS-B dev does."""
    record = Record.read(MAIN)
    lines = ["| cells | checkpoints | Spearman of the two scores |", "|---|---:|---:|"]
    pooled: list[tuple[float, float]] = []
    for line in record.lines:
        pairs = []
        for one in line.outcomes:
            ours, theirs = (dict(one.curves.get(key, [])) for key in (HALVES, STS))
            pairs += [(theirs[step], ours[step]) for step in sorted(ours.keys() & theirs.keys())]
        if len(pairs) > len(line.outcomes):  # of a model that trains
            pooled += pairs
            lines.append(f"| {line.label} | {len(pairs)} | {correlation(pairs):.2f} |")
    lines += [
        f"| all together | {len(pooled)} | {correlation(pooled):.2f} |",
        "",
        f"*Base {bases_of(record)}. Records: `results/lab/main.jsonl`.*",
    ]
    return "\n".join(lines)


def correlation(pairs: list[tuple[float, float]]) -> float:
    return float(spearmanr([a for a, _ in pairs], [b for _, b in pairs]).statistic)


def versions(run: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {run['versions'][name]}" for name in ("torch", "sentence-transformers")
    )
