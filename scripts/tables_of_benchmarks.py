"""Tables of the README and the docs that are made of recorded benchmarks."""

from __future__ import annotations

import json
from pathlib import Path

from tables_of_runs import versions

BENCHMARKS = Path(__file__).parents[1] / "benchmarks" / "results"
# What a GPU really does, in operations a second, for the estimate: an assumption, not measured.
GPU_OPERATIONS = 100e12


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
