"""Write every number of the README and the docs from the records in results/.

python scripts/write_results.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml
from scipy.stats import spearmanr

from clusterns.methods.adapting import told
from clusterns.quickstart.proof import FIGURES

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
BENCHMARKS = ROOT / "benchmarks" / "results"
# What a GPU really does, in operations a second, for the estimate: an assumption, not measured.
GPU_OPERATIONS = 100e12
ADAPTED = ("StackOverflow", "SearchSnippets", "AG", "G-T", "Tweet", "DBpedia", "docstrings")
RIVALS = {
    "adapt": "clusterns adapt",
    "whole": "clusterns adapt, the whole way",
    "simcse": "SimCSE, dropout",
    "crops": "SimCSE, crops",
    "clusterns": "ClusterNS, dropout, K = 64",
    "tsdae": "TSDAE",
    "gist": "GISTEmbed",
    "whitening": "whitening, 256",
}
STS, HALVES = "eval_STS-B_spearman", "eval_heldout_halves_mrr"


def main() -> None:
    fill("README.md", "quickstart", quickstart())
    fill("README.md", "wikipedia", table_of_runs("wikipedia"))
    fill("README.md", "speed", speed())
    fill("docs/prompts.md", "runs", table_of_runs("prompt"))
    fill("docs/methods.md", "methods", table_of_methods())
    fill("docs/adapt.md", "shares", shares())
    fill("docs/adapt.md", "adapt", adaptations())
    fill("docs/adapt.md", "rivals", rivals())
    fill("docs/validation.md", "tracking", tracking())
    fill("docs/scaling.md", "memory", memory())
    fill("docs/scaling.md", "estimate", estimate())


def fill(file: str, marker: str, text: str) -> None:
    """Replace what stands between the two markers of a file."""
    path = ROOT / file
    pattern = rf"(<!-- {marker} -->\n).*?(<!-- /{marker} -->)"
    old = path.read_text("utf-8")
    new, count = re.subn(pattern, lambda m: f"{m[1]}{text}\n{m[2]}", old, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"{file} has no markers {marker}")
    path.write_text(new, "utf-8")


def adapt_cells() -> list[dict[str, Any]]:
    files = sorted((RESULTS / "adapt").glob("*.json"))
    return [json.loads(file.read_text("utf-8")) for file in files]


def change(cells: list[dict[str, Any]], key: str) -> str:
    """From the start to the mean over seeds, with the lowest and highest where there are several."""
    after = [cell["after"][key] for cell in cells if key in cell["after"]]
    if not after:
        return ""
    before, mean = cells[0]["before"][key], sum(after) / len(after)
    spread = f" ({min(after):.1f} to {max(after):.1f})" if len(after) > 1 else ""
    return f"{before:.1f} -> {mean:.1f}{spread}"


def shares() -> str:
    """The end of one run, as it is shown."""
    facts = json.loads((RESULTS / "adapt" / "StackOverflow-adapt-1.json").read_text("utf-8"))[
        "facts"
    ]
    measured = {float(share): found for share, found in facts["measured"].items()}
    refused = {float(share): why for share, why in facts["refused"].items()}
    return indent(told(facts["purpose"], measured, refused, facts["share"]), "    ")


def adaptations() -> str:
    cells = [cell for cell in adapt_cells() if cell["method"] == "adapt"]
    lines = [
        "| text | seeds | share | kNN | AMI | MRR | STS-B |",
        "|---|---:|---:|---|---|---|---|",
    ]
    for domain in ADAPTED:
        of = [cell for cell in cells if cell["domain"] == domain]
        if of:
            shares = ", ".join(sorted({f"{cell['facts']['share']:g}" for cell in of}))
            values = " | ".join(change(of, key) for key in ("kNN", "AMI", "MRR", "STS-B"))
            lines.append(f"| {domain} | {len(of)} | {shares} | {values} |")
    judged = [d for d in ADAPTED[1:6] if any(cell["domain"] == d for cell in cells)]
    gains = {
        key: [
            sum(c["after"][key] - c["before"][key] for c in cells if c["domain"] == d)
            / sum(c["domain"] == d for c in cells)
            for d in judged
        ]
        for key in ("kNN", "AMI", "STS-B")
    }
    told = ", ".join(f"{key} {sum(each) / len(each):+.2f}" for key, each in gains.items())
    return "\n".join([*lines, "", f"*Mean over {', '.join(judged)}: {told}.*"])


def rivals() -> str:
    cells = adapt_cells()
    domains = [
        domain
        for domain in ADAPTED[:6]  # of the docstrings there are no classes
        if any(c["domain"] == domain and c["method"] != "adapt" for c in cells)
    ]
    lines = [f"| kNN, AMI, STS-B | {' | '.join(domains)} |", "|---|" + "---|" * len(domains)]
    start = {c["domain"]: c["before"] for c in cells}
    rows = {"the start": {d: start[d] for d in domains}}
    for method in RIVALS:
        rows[RIVALS[method]] = {
            c["domain"]: c["after"] for c in cells if c["method"] == method and c["seed"] == 1
        }
    for name, found in rows.items():
        if any(domain in found for domain in domains):
            cells_of = [
                ", ".join(f"{found[d][key]:.1f}" for key in ("kNN", "AMI", "STS-B"))
                if d in found
                else ""
                for d in domains
            ]
            lines.append(f"| {name} | {' | '.join(cells_of)} |")
    return "\n".join([*lines, "", "*Seed 1: differences under a point or so are noise.*"])


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


def speed() -> str:
    """Training sentences a second, against the two other ways."""
    record = json.loads((BENCHMARKS / "training.json").read_text("utf-8"))
    theirs, straightforward = "Sentence Transformers", "broadcast cosines"
    ours = ("clusterns, SimCSE", "clusterns, ClusterNS")
    lines = [
        f"| encoder, batch, pooling | {theirs} | {straightforward} | {' | '.join(ours)} |",
        "|---|---:|---:|---:|---:|",
    ]
    for case in record["cases"]:
        rates = {way: found["sentences_a_second"] for way, found in case["ways"].items()}
        cells = [f"{rates[way]:.1f}" for way in (theirs, straightforward)]
        cells += [f"{rates[way]:.1f} ({rates[way] / rates[theirs]:.2f} x)" for way in ours]
        name = f"{case['encoder']}, {case['batch']}, {case['pooling']}"
        lines.append(f"| {name} | {' | '.join(cells)} |")
    note = (
        f"*Sentences a second in training, on {record['cores']} cores without a GPU, same loss values; "
        f"{versions(record)}. What was measured and how: "
        "[benchmarks/RESULTS.md](benchmarks/RESULTS.md).*"
    )
    return "\n".join([*lines, "", note])


def memory() -> str:
    """A step's memory with the gradient cache and without, and what a line of the corpus adds."""
    record = json.loads((BENCHMARKS / "memory.json").read_text("utf-8"))
    lines = ["| batch | peak, MiB | with the gradient cache, MiB |", "|---:|---:|---:|"]
    peaks = {(row["batch"], row["gradient_cache"]): row["peak"] for row in record["results"]}
    for batch in sorted({batch for batch, _ in peaks}):
        cells = [
            f"{peaks[batch, cached] / 2**20:,.0f}" if (batch, cached) in peaks else "not run"
            for cached in (False, True)
        ]
        lines.append(f"| {batch:,} | {' | '.join(cells)} |")
    a_line = json.loads((BENCHMARKS / "scale.json").read_text("utf-8"))["bytes_a_line"]
    ratio = record["ratio_4096_to_256"]
    lines += [
        "",
        f"With the cache, 4,096 sentences need {ratio['peak']:.2f} times the memory of 256 in the "
        f"whole process, {ratio['above']:.2f} times in what a step adds to it (minibert). A line of the corpus adds "
        + ", ".join(f"{value:.1f} bytes ({phase})" for phase, value in a_line.items())
        + ".",
    ]
    return "\n".join(lines)


def estimate() -> str:
    """Hours for BERT-base: from its measured step here, and by arithmetic for a GPU."""
    record = json.loads((BENCHMARKS / "training.json").read_text("utf-8"))
    case = next(case for case in record["cases"] if case["encoder"] == "12 x 768")
    way = case["ways"]["clusterns, ClusterNS"]
    operations = case["operations_a_step"] / case["batch"]
    lines = [
        f"| sentences | operations | {record['cores']} cores of the benchmark | one GPU | eight GPUs |",
        "|---:|---:|---:|---:|---:|",
    ]
    for name, sentences in (("1 million", 1e6), ("1 billion", 1e9)):
        seconds = [
            sentences / way["sentences_a_second"],
            sentences * operations / GPU_OPERATIONS,
            sentences * operations / GPU_OPERATIONS / 8,
        ]
        times = " | ".join(duration(value) for value in seconds)
        lines.append(f"| {name} | {sentences * operations:.1e} | {times} |")
    lines += [
        "",
        f"*One epoch of ClusterNS on 12 layers of 768, Wikipedia sentences of at most 32 tokens, CLS "
        f"pooling: {operations / 1e9:.1f} billion operations a sentence. The cores were measured "
        f"({way['sentences_a_second']:.1f} sentences a second); the GPU is arithmetic, at an assumed "
        f"{GPU_OPERATIONS / 1e12:.0f} tera-operations a second, and has not been measured.*",
    ]
    return "\n".join(lines)


def duration(seconds: float) -> str:
    for unit, size in (("years", 365 * 86400), ("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.0f} s"


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


if __name__ == "__main__":
    main()
