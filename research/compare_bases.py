"""Which base is the better start: two fixed runs with crops, over seeds.

    python research/compare_bases.py sentences.txt runs/base --base minibert-1=minibert
    python research/compare_bases.py sentences.txt runs/base --base minibert-2=work/minibert-2

Runs one after the other; a run that was stopped goes on, and a finished one is left alone. Scored on STS-B
dev (CLUSTERNS_DATA) before and at the end only, so that nothing is chosen on it. Every finished run is kept
under results/base, and the table of all of them is written into results/base/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from clusterns.training.folder import read_metrics
from record_run import RESULTS, keep

STEPS, SCORE = 250, "eval_STS-B-dev_spearman"
SHARED = {"max_steps": STEPS, "eval_steps": STEPS, "heldout": 500, "dev": "stsb"}
# What is kept of a base that was made here: the metrics, a curve, and a README that says how.
PRETRAINING = "pretraining.jsonl"
METHODS = {"simcse": {"method": "simcse"}, "clusterns": {"method": "clusterns", "sigma": 0.4}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("output", type=Path)
    parser.add_argument("--base", required=True, metavar="NAME=MODEL", help="its name in the table")
    parser.add_argument("--seeds", type=int, nargs="+", default=[42, 43, 44])
    given = parser.parse_args()
    name, _, model = given.base.partition("=")
    for seed in given.seeds:
        for method in METHODS:
            run = f"{name}/{method}-{seed}"
            train(given.corpus, model, method, seed, given.output / run)
            keep(given.output / run, f"base/{run}")
            write_table()


def train(corpus: str, model: str, method: str, seed: int, output: Path) -> None:
    """One run on one thread, gone on with where it was stopped."""
    if (output / "results.json").exists():
        return
    command = [sys.executable, "-m", "clusterns", "train", "--output", str(output)]
    if (output / "run.json").exists():
        command += ["--resume"]
    else:
        command += [corpus, "--base", model, "--recipe", "cpu-small"]
        for key, value in {**SHARED, **METHODS[method], "seed": seed}.items():
            command += ["--set", f"{key}={value}"]
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


def scores(base: Path, method: str) -> dict[int, float]:
    """Spearman x 100 at the end of every recorded run, by seed."""
    found = {}
    for file in base.glob(f"{method}-*/metrics.jsonl"):
        lines = read_metrics(file)
        last = [line[SCORE] for line in lines if SCORE in line][-1]
        found[int(file.parent.name.rpartition("-")[2])] = 100 * last
    return dict(sorted(found.items()))


def untrained(base: Path) -> float:
    file = next(base.glob("*/results.json"))
    return 100 * json.loads(file.read_text("utf-8"))["base_score"]


def write_table() -> None:
    """Every base's scores by seed, and the last base against the first."""
    folder = RESULTS / "base"
    bases = sorted(each for each in folder.iterdir() if each.is_dir())
    lines = [
        f"# STS-B dev after {STEPS} steps, from every base",
        "",
        "Spearman x 100 by seed. Written by `research/compare_bases.py`. The seed chooses the sentences and their",
        "crops: bases are compared on the seeds that both have.",
        "",
        f"| base | untrained | {' | '.join(METHODS)} |",
        "|---|---:|" + "---|" * len(METHODS),
    ]
    for base in bases:
        cells = [_cell(scores(base, method)) for method in METHODS]
        lines.append(f"| {base.name} | {untrained(base):.1f} | {' | '.join(cells)} |")
    if len(bases) > 1:
        lines += ["", *(_verdict(bases[0], bases[-1], method) for method in METHODS)]
    for base in bases:
        if (base / PRETRAINING).exists():
            lines += ["", *_making(base)]
    (folder / "README.md").write_text("\n".join(lines) + "\n", "utf-8")


def _making(base: Path) -> list[str]:
    """How a base was made, from the metrics and the options that `make_minibert.py` was run with."""
    metrics = [json.loads(line) for line in (base / PRETRAINING).read_text("utf-8").splitlines()]
    held_out = [line["held_out"] for line in metrics if "held_out" in line]
    steps, tokens = metrics[-1]["step"], metrics[-1]["tokens"]
    seen = f"{steps:,} steps of {tokens // steps:,} tokens ({tokens / 1e6:.1f} M)"
    return [
        f"## {base.name}",
        "",
        (base / "README.md").read_text("utf-8").strip(),
        "",
        f"{seen}. Masked-LM loss on held-out sentences, whole words masked:",
        f"{held_out[0]:.2f} before, {held_out[-1]:.2f} after.",
        "",
        f"![Loss of {base.name}]({base.name}.png)",
    ]


def _cell(found: dict[int, float]) -> str:
    if not found:
        return "not run"
    each = ", ".join(f"{score:.1f} ({seed})" for seed, score in found.items())
    return f"{each}; mean {statistics.mean(found.values()):.1f}" if len(found) > 1 else each


def _verdict(old: Path, new: Path, method: str) -> str:
    """The mean gain, whether it is more than the seeds' range, and the gain of every seed."""
    before, after = scores(old, method), scores(new, method)
    seeds = sorted(before.keys() & after.keys())
    if not seeds:
        return f"- {method}: no seed was run from both."
    gains = [after[seed] - before[seed] for seed in seeds]
    spread = max(
        max(found[seed] for seed in seeds) - min(found[seed] for seed in seeds)
        for found in (before, after)
    )
    gain = statistics.mean(gains)
    word = "more" if gain > spread and len(seeds) > 1 else "not more"
    each = ", ".join(f"{each:+.1f}" for each in gains)
    return (
        f"- {method}: {gain:+.1f} from {old.name} to {new.name} ({each}), {word} than the range over "
        f"{len(seeds)} seeds ({spread:.1f})."
    )


if __name__ == "__main__":
    main()
