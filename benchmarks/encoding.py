"""Sentences a second of encoding, and lines a second of corpus preparation.

    CLUSTERNS_DATA=... python -m benchmarks encoding

Encoding: what `clusterns encode` and the evaluation do with sentences (sorted by tokens, batches
of 32), against `SentenceTransformer.encode` as it is (sorted by characters, batches of 32), on the
same Wikipedia sentences with minibert; the vectors are equal. Preparation: reading, cleaning and
removing duplicates of lines that are new to the cache, and opening them when they are in it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import alternate, description, wikipedia
from clusterns.data.corpus import prepare_corpus
from clusterns.encoder.load import load_model
from clusterns.vectors.embed import Embedder

SENTENCES = 2048
LINES = 200_000
THEIRS, OURS = "SentenceTransformer.encode", "clusterns"
NEW, CACHED = "lines that are new", "lines in the cache"


def encoding(rounds: int = 5) -> dict[str, Any]:
    model = load_model("minibert", "mean")
    texts = wikipedia(SENTENCES)
    theirs = model.encode(texts)
    assert np.allclose(theirs, Embedder(model)(texts), atol=1e-5)
    times = alternate(
        {THEIRS: lambda: model.encode(texts), OURS: lambda: Embedder(model)(texts)}, rounds
    )
    return {name: {**found, "rate": SENTENCES / found["seconds"]} for name, found in times.items()}


def preparation(rounds: int = 3) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        corpus, cache = Path(folder) / "corpus.txt", Path(folder) / "cache"
        corpus.write_text("\n".join(wikipedia(LINES)), "utf-8")

        def prepare(again: bool) -> None:
            if again:
                for file in cache.glob("*"):
                    file.unlink()
            prepare_corpus([str(corpus)], cache=cache, progress=False)

        times = alternate({NEW: lambda: prepare(True), CACHED: lambda: prepare(False)}, rounds)
    return {name: {**found, "rate": LINES / found["seconds"]} for name, found in times.items()}


def run() -> dict[str, Any]:
    """Measure both."""
    return {"encoding": encoding(), "preparation": preparation()}


def markdown(record: dict[str, Any]) -> str:
    """The tables."""
    encoded, prepared = record["encoding"], record["preparation"]
    ratio = encoded[THEIRS]["seconds"] / encoded[OURS]["seconds"]
    lines = [
        "## Encoding and preparation",
        "",
        description(__doc__),
        "",
        "| | a second |",
        "|---|---:|",
        f"| sentences, {THEIRS} | {encoded[THEIRS]['rate']:,.0f} |",
        f"| sentences, {OURS} | {encoded[OURS]['rate']:,.0f} (**{ratio:.2f} times**) |",
        *(f"| {name} | {prepared[name]['rate']:,.0f} |" for name in (NEW, CACHED)),
    ]
    return "\n".join(lines) + "\n"
