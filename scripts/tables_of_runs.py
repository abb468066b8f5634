"""Tables of the README and the docs that are made of recorded runs."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import yaml
from scipy.stats import spearmanr

from clusterns.lab.records import Record
from clusterns.quickstart.proof import FIGURES
from compare_bases import METHODS, STEPS, scores, untrained
from record_run import base_of

RESULTS = Path(__file__).parents[1] / "results"
STS, HALVES = "eval_STS-B_spearman", "eval_heldout_halves_mrr"


def quickstart() -> str:
    folder = RESULTS / "quickstart"
    proof: dict[str, dict[str, float]] = json.loads((folder / "proof.json").read_text("utf-8"))
    run = json.loads((folder / "run.json").read_text("utf-8"))
    recipe = yaml.safe_load((folder / "recipe.yaml").read_text("utf-8"))
    lines = [
        f"| on docstrings | {' | '.join(proof)} |",
        "|---|" + "---:|" * len(proof),
    ]
    for key, figure in FIGURES.items():
        values = [result[key] for result in proof.values()]
        best = max(values) if figure.higher_is_better else min(values)
        cells = [f"**{v:.3f}**" if v == best else f"{v:.3f}" for v in values]
        lines.append(
            f"| {figure.name} {'↑' if figure.higher_is_better else '↓'} | {' | '.join(cells)} |"
        )
    counts = run["corpus"]["docstrings"]
    lines += [
        "",
        f"*{counts['sentences']:,} sentences of {counts['packages']} packages, {recipe['max_steps']} steps of "
        f"{recipe['batch_size']}, positives {recipe['positives']}, seed {recipe['seed']}; {versions(run)}; one "
        "seed: small differences between the trained models are noise.*",
    ]
    return "\n".join(lines)


def table_of_runs(kind: str) -> str:
    lines = [
        "| run | learning rate | steps of | STS-B dev, untrained | best | at step | clustering from |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    seeds, used, bases = set(), set(), set()
    for folder, recipe, run, _ in runs(kind):
        bases.add(base_of(run))
        result = json.loads((folder / "results.json").read_text("utf-8"))
        started = result["clustering_started_at"]
        lines.append(
            f"| {folder.name} | {recipe['learning_rate']:g} | {result['steps']} x {recipe['batch_size']} | "
            f"{100 * result['base_score']:.1f} | {100 * result['best_score']:.1f} | "
            f"{result['best_step']} | {'' if started is None else f'step {started}'} |"
        )
        seeds.add(recipe["seed"])
        used.add(versions(run))
    note = (
        f"*Base {', '.join(sorted(bases))}; Spearman x 100 on STS-B dev, which also chose the step; seeds "
        f"{sorted(seeds)}, one a row: differences of a point or two between methods are noise. "
        f"{'; '.join(sorted(used))}. Recipes, commands and curves: `results/{kind}`.*"
    )
    return "\n".join([*lines, "", note])


def table_of_bases(*bases: str) -> str:
    """The two fixed runs with crops, from every version of the small base."""
    lines = [
        f"| base | untrained | {' | '.join(f'{method}, crops' for method in METHODS)} | second over first |",
        "|---|---:|" + "---|" * (len(METHODS) + 1),
    ]
    seeds = set()
    for name in bases:
        folder = RESULTS / "base" / name
        first, second = found = [scores(folder, method) for method in METHODS]
        cells = [
            f"{statistics.mean(each.values()):.1f} ({min(each.values()):.1f} to {max(each.values()):.1f})"
            for each in found
        ]
        gains = ", ".join(f"{second[seed] - first[seed]:+.1f}" for seed in sorted(first))
        lines.append(f"| {name} | {untrained(folder):.1f} | {' | '.join(cells)} | {gains} |")
        seeds |= first.keys()
    note = (
        f"*{STEPS} steps of 64 sentences, Spearman x 100 on STS-B dev at the last step only, which chose nothing; "
        f"mean and range over seeds {sorted(seeds)}. Recipes, commands and curves: `results/base`.*"
    )
    return "\n".join([*lines, "", note])


def table_of_methods() -> str:
    """All methods on one budget, the best first."""
    rows, seeds, used, budgets, bases = [], set(), set(), set(), set()
    for folder, recipe, run, _ in runs("methods"):
        bases.add(base_of(run))
        result = json.loads((folder / "results.json").read_text("utf-8"))
        trained = result["steps"] > 0
        before = f"{100 * result['base_score']:.1f}" if trained else ""
        rows.append((100 * result["best_score"], folder.name, before, result["best_step"] or ""))
        seeds.add(recipe["seed"])
        used.add(versions(run))
        if trained:
            budgets.add(
                f"{result['steps']} steps of {recipe['batch_size']}, rate {recipe['learning_rate']:g}"
            )
    lines = ["| run | STS-B dev, untrained | best | at step |", "|---|---:|---:|---:|"]
    lines += [
        f"| {name} | {b} | {best:.1f} | {step} |"
        for best, name, b, step in sorted(rows, reverse=True)
    ]
    note = (
        f"*Base {', '.join(sorted(bases))}, {'; '.join(sorted(budgets))}; Spearman x 100 on STS-B dev, which also "
        "chose the step; seeds "
        f"{sorted(seeds)}, one a row: differences of a point or two are noise. No method was tuned on "
        "this table, but `promptbert`, `conpvp` and `clusterns-prompt` take `denoising: clean`, which had measured "
        "better on this base than the published `dropout`. "
        f"{'; '.join(sorted(used))}. Recipes, commands and curves: `results/methods`.*"
    )
    return "\n".join([*lines, "", note])


def tracking() -> str:
    """How well the label-free score orders checkpoints as STS-B dev does."""
    record = Record.read(RESULTS / "lab" / "main.jsonl")
    lines = ["| cells | checkpoints | Spearman of the two scores |", "|---|---:|---:|"]
    pooled: list[tuple[float, float]] = []
    bases = set()
    for line in record.lines:
        pairs = []
        for one in line.outcomes:
            ours, theirs = (dict(one.curves.get(key, [])) for key in (HALVES, STS))
            pairs += [(theirs[step], ours[step]) for step in sorted(ours.keys() & theirs.keys())]
            bases.add(base_of(one.result))
        if len(pairs) > len(line.outcomes):  # of a model that trains
            pooled += pairs
            lines.append(f"| {line.label} | {len(pairs)} | {correlation(pairs):.2f} |")
    lines += [
        f"| all together | {len(pooled)} | {correlation(pooled):.2f} |",
        "",
        f"*Base {', '.join(sorted(bases))}. Records: `results/lab/main.jsonl`.*",
    ]
    return "\n".join(lines)


def correlation(pairs: list[tuple[float, float]]) -> float:
    return float(spearmanr([a for a, _ in pairs], [b for _, b in pairs]).statistic)


def runs(kind: str) -> list[tuple[Path, dict[str, Any], dict[str, Any], list[dict[str, Any]]]]:
    found = []
    for folder in sorted((RESULTS / kind).iterdir()):
        found.append(
            (
                folder,
                yaml.safe_load((folder / "recipe.yaml").read_text("utf-8")),
                json.loads((folder / "run.json").read_text("utf-8")),
                [
                    json.loads(line)
                    for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()
                ],
            )
        )
    return found


def versions(run: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {run['versions'][name]}" for name in ("torch", "sentence-transformers")
    )
