"""Adapting a model against encoding its text once: 20,000 titles, all-MiniLM-L6-v2.

    CLUSTERNS_DATA=... CLUSTERNS_MODELS=... python -m benchmarks adapt

The titles are those of the StackOverflow set. `encode` is one pass of Sentence Transformers' own over all of
them, before and after; `adapt` is the whole of `clusterns adapt --for topics`: reading, targets, the map, the
choice at the end and saving, without the report. Processor seconds, which do not count what else the machine does.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer

from benchmarks.harness import description
from clusterns import adapt

FILE, MODEL = "short-text/stackoverflow_true_text", "all-MiniLM-L6-v2"


def run() -> dict[str, Any]:
    """Measure both."""
    lines = (Path(os.environ["CLUSTERNS_DATA"]) / FILE).read_text("utf-8").splitlines()
    texts = [line.split("\t")[1].strip() for line in lines if "\t" in line]
    base = Path(os.environ["CLUSTERNS_MODELS"]) / MODEL
    model = SentenceTransformer(str(base), device="cpu")

    def encode() -> float:
        begun = time.process_time()
        model.encode(texts, batch_size=64, show_progress_bar=False)
        return time.process_time() - begun

    encoded = [encode()]
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "titles.txt"
        corpus.write_text("\n".join(texts), "utf-8")
        begun = time.process_time()
        adapt(corpus, Path(folder) / "run", base=base, quiet=True)
        adapted = time.process_time() - begun
    encoded.append(encode())
    return {"titles": len(texts), "encode": encoded, "adapt": adapted}


def markdown(record: dict[str, Any]) -> str:
    """The table."""
    encode = statistics.median(record["encode"])
    lines = [
        "## Adapting",
        "",
        description(__doc__),
        "",
        f"| {record['titles']:,} titles | processor seconds | of one encode |",
        "|---|---:|---:|",
        f"| encode | {encode:.0f} | 1 |",
        f"| adapt | {record['adapt']:.0f} | {record['adapt'] / encode:.2f} |",
    ]
    return "\n".join(lines) + "\n"
