"""Tables of the README and the docs that are made of recorded runs."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import yaml
from scipy.stats import spearmanr

from clusterns.quickstart.proof import FIGURES
from compare_bases import METHODS, STEPS, scores

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
        f"{recipe['batch_size']}, seed {recipe['seed']}; {versions(run)}; one seed: small differences "
        "between the trained models are noise.*",
    ]
    return "\n".join(lines)


def table_of_runs(kind: str) -> str:
    lines = [
        "| run | learning rate | steps of | STS-B dev, untrained | best | at step | clustering from |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    seeds, used = set(), set()
    for folder, recipe, run, _ in runs(kind):
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
        f"*Base minibert; Spearman x 100 on STS-B dev, which also chose the step; seeds {sorted(seeds)}, one a "
        f"row: differences of a point or two between methods are noise. {'; '.join(sorted(used))}. Recipes, "
        f"commands and curves: `results/{kind}`.*"
    )
    return "\n".join([*lines, "", note])


def over_seeds(base: str) -> str:
    """The two fixed runs with crops from one base, seed by seed."""
    found = {method: scores(RESULTS / "base" / base, method) for method in METHODS}
    parts = [
        f"{method} {statistics.mean(values.values()):.1f} ({min(values.values()):.1f} to {max(values.values()):.1f})"
        for method, values in found.items()
    ]
    first, second = found.values()
    gains = ", ".join(f"{second[seed] - first[seed]:+.1f}" for seed in sorted(first))
    return (
        f"*Over seeds {sorted(first)}, with crops, {STEPS} steps of 64, STS-B dev at the last step only, mean and "
        f"range: {'; '.join(parts)}; seed by seed {gains} for the second. Records: `results/base/{base}`.*"
    )


def table_of_methods() -> str:
    """All methods on one budget, the best first."""
    rows, seeds, used, budgets = [], set(), set(), set()
    for folder, recipe, run, _ in runs("methods"):
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
        f"*Base minibert, {'; '.join(sorted(budgets))}; Spearman x 100 on STS-B dev, which also chose the step; seeds "
        f"{sorted(seeds)}, one a row: differences of a point or two are noise. No method was tuned on "
        "this table, but `promptbert`, `conpvp` and `clusterns-prompt` take `denoising: clean`, which had measured "
        "better on this base than the published `dropout`. "
        f"{'; '.join(sorted(used))}. Recipes, commands and curves: `results/methods`.*"
    )
    return "\n".join([*lines, "", note])


def tracking() -> str:
    """How well the label-free score orders checkpoints as STS-B dev does."""
    lines = ["| run | checkpoints | Spearman of the two scores |", "|---|---:|---:|"]
    pooled: list[tuple[float, float]] = []
    for folder, _, _, metrics in runs("wikipedia"):
        pairs = [(line[STS], line[HALVES]) for line in metrics if STS in line and HALVES in line]
        pooled += pairs
        lines.append(f"| {folder.name} | {len(pairs)} | {correlation(pairs):.2f} |")
    lines.append(f"| all runs together | {len(pooled)} | {correlation(pooled):.2f} |")
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
