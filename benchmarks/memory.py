"""The memory of a training step with the gradient cache and without it.

    CLUSTERNS_DATA=... python -m benchmarks memory

Each line is a process of its own: it loads minibert, makes its loss (ClusterNS, with clustering
under way) and trains on real Wikipedia sentences of at most 32 tokens: forward, backward, AdamW,
diagnostics. "Peak" is the most memory that the process ever held (resident, libraries and all);
"above" is that without what it held before the first step, when model and data were loaded. The
mini-batch has 64 rows throughout. The estimate is what the program would have said beforehand.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset

from benchmarks.harness import HERE, description, wikipedia
from clusterns.training.build import build
from clusterns.training.memory import estimate_memory
from clusterns.training.recipe import load_recipe

MIB = 2**20
STEPS = 2
BATCHES = {True: (64, 256, 1024, 4096), False: (64, 256, 1024)}
SETTINGS = {
    "base": "minibert", "max_length": 32, "mini_batch_size": 64, "clusters": 32, "start_step": 1,
}  # fmt: skip


def resident() -> tuple[int, int]:
    """Bytes that this process holds, and the most that it has held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = {name: value for name, _, value in (line.partition(":") for line in lines)}
    now, peak = (1024 * int(found[name].split()[0]) for name in ("VmRSS", "VmHWM"))
    return now, peak


def measure(batch: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Train in this process, which must be a fresh one."""
    recipe = load_recipe("default", {**SETTINGS, "batch_size": batch, **settings})
    texts = wikipedia(STEPS * batch + recipe.clusters)
    setup = build(recipe, Dataset.from_dict({"text": texts}))
    model, loss = setup.model, setup.loss
    optimizer = torch.optim.AdamW(model.parameters(), recipe.learning_rate, fused=True)
    model.train()
    loaded, _ = resident()

    def step(rows: list[str]) -> None:
        loss(setup.columns([{"text": text} for text in rows])).backward()
        optimizer.step()
        optimizer.zero_grad()
        loss.diagnostics()

    step(texts[: recipe.clusters])  # a few rows start the clustering
    for first in range(recipe.clusters, len(texts), batch):
        step(texts[first : first + batch])
    _, peak = resident()
    memory = estimate_memory(setup)
    return {
        "batch": batch,
        "gradient_cache": recipe.gradient_cache,
        "loaded": loaded,
        "peak": peak,
        "above": peak - loaded,
        "estimate": memory.step,
    }


def in_a_fresh_process(batch: int, settings: dict[str, Any]) -> dict[str, Any]:
    asked = [str(batch), json.dumps(settings)]
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", *asked],
        cwd=HERE.parent,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(child.stdout.splitlines()[-1])


def run() -> dict[str, Any]:
    """Measure every batch, each in a process of its own."""
    rows = [
        in_a_fresh_process(batch, {"gradient_cache": cached})
        for cached, batches in BATCHES.items()
        for batch in batches
    ]
    return {
        "settings": SETTINGS,
        "steps": STEPS,
        "ratio_4096_to_256": ratios(rows),
        "results": rows,
    }


def ratios(rows: list[dict[str, Any]]) -> dict[str, float]:
    """How much more a batch of 4,096 needs than one of 256, with the gradient cache."""
    small, large = (
        next(row for row in rows if row["gradient_cache"] and row["batch"] == batch)
        for batch in (256, 4096)
    )
    return {key: large[key] / small[key] for key in ("peak", "above")}


def markdown(record: dict[str, Any]) -> str:
    """The table."""
    ratio = record["ratio_4096_to_256"]
    lines = [
        "## Memory of a training step",
        "",
        f"{description(__doc__)} {record['steps']} steps.",
        "",
        f"With the gradient cache, a batch of 4,096 needs **{ratio['peak']:.2f}** times the memory "
        f"of a batch of 256 ({ratio['above']:.2f} times above what is loaded).",
        "",
        "| batch | gradient cache | loaded, MiB | peak, MiB | above, MiB | estimate of above, MiB |",
        "|---:|---|---:|---:|---:|---:|",
    ]
    for row in record["results"]:
        sizes = " | ".join(
            f"{row[key] / MIB:,.0f}" for key in ("loaded", "peak", "above", "estimate")
        )
        lines.append(f"| {row['batch']:,} | {'yes' if row['gradient_cache'] else 'no'} | {sizes} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":  # the fresh process
    size, changes = sys.argv[1:]
    print(json.dumps(measure(int(size), json.loads(changes))))
