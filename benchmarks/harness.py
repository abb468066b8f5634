"""What the benchmarks share: contenders that take turns, the machine, real sentences."""

from __future__ import annotations

import lzma
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).parent
RESULTS = HERE / "results"
LIBRARIES = ("torch", "transformers", "sentence-transformers", "datasets")


def alternate(
    contenders: Mapping[str, Callable[[], object]], rounds: int, *, warm_up: bool = True
) -> dict[str, dict[str, float]]:
    """Let the contenders take turns; the median of each, in wall and in processor seconds.

    With ``warm_up``, a first turn of each does not count.
    """
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for turn in range(-warm_up, rounds):
        for name, work in contenders.items():
            wall, processor = time.perf_counter(), time.process_time()
            work()
            taken = time.perf_counter() - wall, time.process_time() - processor
            if turn >= 0:
                times[name].append(taken)
    return {
        name: {
            "seconds": statistics.median(wall for wall, _ in taken),
            "processor_seconds": statistics.median(processor for _, processor in taken),
            "spread": (max(w for w, _ in taken) - min(w for w, _ in taken)),
            "rounds": rounds,
        }
        for name, taken in times.items()
    }


def machine() -> dict[str, Any]:
    """The machine and the versions, for the record."""
    return {
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}",
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in LIBRARIES},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def wikipedia(count: int) -> list[str]:
    """The first real sentences of the Wikipedia file."""
    path = Path(os.environ["CLUSTERNS_DATA"]) / "wiki" / "enwiki_1m.txt.xz"
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return list(islice((line.strip() for line in lines if len(line) > 20), count))


def description(module_doc: str | None) -> str:
    """The paragraphs of a benchmark's docstring, but for its title and its command."""
    paragraphs = (module_doc or "").strip().split("\n\n")[2:]
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
