"""How much text static embeddings need: the first lines of Wikipedia, from 1,000 to a million.

    CLUSTERNS_DATA=... PYTHONPATH=. python research/static_curve.py 1000 10000 100000 1000000

Each size is learned with and without the contrast, and scored on STS-B dev and the seven STS sets. Results go to
results/static/curve.json after each size; a size that is there is not repeated.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness import wikipedia
from sentence_transformers import SentenceTransformer

from clusterns.evaluation.catalog import EvaluationData
from clusterns.evaluation.sts import cosines_of, spearman
from clusterns.files import read_json, write_json
from clusterns.record import make_record
from clusterns.static import pairs
from clusterns.static.learn import learn
from clusterns.static.settings import StaticSettings
from clusterns.vectors.embed import Embedder

RECORD = Path(__file__).parents[1] / "results" / "static" / "curve.json"
SETS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")


def main() -> None:
    pairs.FEWEST_PAIRS = 2  # to measure what the default leaves out
    data = EvaluationData()
    found = read_json(RECORD) if RECORD.exists() else []
    for lines in map(int, sys.argv[1:]):
        if any(one["lines"] == lines for one in found):
            continue
        texts, seconds = wikipedia(lines), 0.0
        with tempfile.TemporaryDirectory() as folder:  # with the contrast, it goes on from there
            for contrast in ("none", "auto"):
                began = time.process_time()
                settings = StaticSettings(contrast=contrast)
                model = learn(texts, settings, seed=0, folder=Path(folder))
                seconds += time.process_time() - began
                found.append(result(model, lines, contrast, seconds, data))
                write_json(RECORD, found)


def result(
    model: SentenceTransformer, lines: int, contrast: str, seconds: float, data: EvaluationData
) -> dict[str, Any]:
    """Scores x 100 and costs."""
    embed = Embedder(model)
    score = {
        name: 100 * spearman(cosines_of(embed, data.pairs(name)), data.pairs(name).scores)
        for name in ("STS-B dev", *SETS)
    }
    score["Avg."] = float(np.mean([score[name] for name in SETS]))
    about = {
        "lines": lines,
        "contrast": contrast,
        "seed": 0,
        "processor_seconds": round(seconds),
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(about, {name: round(value, 1) for name, value in score.items()}, flush=True)
    return {**about, "scores": score, **make_record(command=sys.argv)}


if __name__ == "__main__":
    main()
