"""Near-duplicates: from a million vectors to pairs and groups, never all against all.

    CLUSTERNS_DATA=... python -m benchmarks similar

What `clusterns similar` does after encoding, on one thread: an inverted file with its recall
measured, the 15 nearest of every vector, pairs and groups at each threshold. Each vector lies
between two of 50,000 real Wikipedia sentences encoded with minibert (256 numbers a vector), nearer
to the one; 1,000 of them come again with a little noise (cosine 0.999), and are looked for.
All against all, for comparison, is estimated from 1,000 vectors.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import description, wikipedia
from clusterns.encoder.load import load_model
from clusterns.explorer.duplicates import THRESHOLDS, find_pairs, levels
from clusterns.vectors.ann import InvertedFile
from clusterns.vectors.embed import Embedder
from clusterns.vectors.nearest import Vectors, nearest, unit

# A smaller number is for a look; the record is of a million.
COUNT = int(os.environ.get("BENCHMARK_VECTORS", 1_000_000))
REAL, PLANTED, CHECKED, NEIGHBOURS = 50_000, 1000, 1000, 15
BLOCK = 50_000


def million(path: Path, real: Vectors) -> Vectors:
    """The vectors in a mapped file, as those of an index are; the last ones repeat the first."""
    random = np.random.default_rng(0)
    vectors = np.lib.format.open_memmap(
        path, mode="w+", dtype=np.float32, shape=(COUNT, real.shape[1])
    )
    for start in range(0, COUNT, BLOCK):
        size = min(BLOCK, COUNT - start)
        one, other = random.integers(len(real), size=(2, size))
        share = random.uniform(0.1, 0.4, size=(size, 1)).astype(np.float32)
        vectors[start : start + size] = unit((1 - share) * real[one] + share * real[other])
    noise = random.normal(scale=0.045 / real.shape[1] ** 0.5, size=(PLANTED, real.shape[1]))
    vectors[-PLANTED:] = unit(vectors[:PLANTED] + noise)
    vectors.flush()
    return np.load(path, mmap_mode="r")


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    wall, processor = time.perf_counter(), time.process_time()
    found = work()
    return found, {
        "seconds": time.perf_counter() - wall,
        "processor_seconds": time.process_time() - processor,
    }


def run() -> dict[str, Any]:
    """Measure the stages."""
    real = unit(Embedder(load_model("minibert", "mean", device="cpu"))(wikipedia(REAL)))
    with tempfile.TemporaryDirectory() as folder:
        vectors = million(Path(folder) / "vectors.npy", real)
        lists, building = timed(lambda: InvertedFile.build(vectors, progress=False))
        (cosines, rows, _), looking = timed(lambda: lists.neighbors(NEIGHBOURS, progress=False))
        pairs, pairing = timed(lambda: find_pairs(cosines, rows, min(THRESHOLDS)))
        _, grouping = timed(lambda: levels(pairs, THRESHOLDS))
        own = np.sort(np.random.default_rng(1).choice(COUNT, CHECKED, replace=False))
        (exact, _), slowly = timed(lambda: nearest(vectors[own], vectors, 10, own))
    planted = np.arange(PLANTED)
    return {
        "vectors": COUNT,
        "stages": {"lists": building, "neighbours": looking, "pairs": pairing, "levels": grouping},
        "lists": {"lists": lists.recall.lists, "probes": lists.recall.probes},
        "recall": float(np.mean(cosines[own, :10] >= exact[:, -1:] - 1e-5)),
        "planted_found": float(
            np.mean((rows[planted] == (COUNT - PLANTED + planted)[:, None]).any(axis=1))
        ),
        "pairs": len(pairs.first),
        "all_against_all": {name: COUNT / CHECKED * value for name, value in slowly.items()},
    }


def markdown(record: dict[str, Any]) -> str:
    """The table."""
    names = {
        "lists": f"inverted file of {record['lists']['lists']:,} lists, and its recall",
        "neighbours": f"the {NEIGHBOURS} nearest of each, in {record['lists']['probes']} lists",
        "pairs": f"{record['pairs']:,} pairs",
        "levels": f"groups at each of {len(THRESHOLDS)} thresholds",
    }
    lines = [
        "## Near-duplicates",
        "",
        description(__doc__),
        "",
        f"| {record['vectors']:,} vectors | seconds | of a processor |",
        "|---|---:|---:|",
    ]
    total = {
        key: sum(stage[key] for stage in record["stages"].values())
        for key in ("seconds", "processor_seconds")
    }
    for name, stage in [
        *((names[key], stage) for key, stage in record["stages"].items()),
        ("**together**", total),
        ("all against all, estimated", record["all_against_all"]),
    ]:
        lines.append(f"| {name} | {stage['seconds']:,.0f} | {stage['processor_seconds']:,.0f} |")
    lines += [
        "",
        f"Of the 10 nearest, {record['recall']:.1%} are found (1,000 vectors checked against exact "
        f"search); of the {PLANTED:,} planted repeats, {record['planted_found']:.1%}.",
    ]
    return "\n".join(lines) + "\n"
