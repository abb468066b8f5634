"""How much text static embeddings need: the first lines of Wikipedia, from 1,000 to a million.

    CLUSTERNS_DATA=... python research/static_curve.py 1000 10000 100000 1000000

Each size is learned with and without the contrast, and scored on STS-B dev and the seven STS sets. Results go to
results/static/curve.json after each size; a size that is there is not repeated.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from benchmarks.harness import wikipedia

from clusterns.evaluation.catalog import EvaluationData
from clusterns.evaluation.sts import cosines_of, spearman
from clusterns.files import read_json, write_json
from clusterns.record import make_record
from clusterns.static import learn as room
from clusterns.static.learn import learn
from clusterns.static.settings import StaticSettings
from clusterns.vectors.embed import Embedder

RECORD = Path(__file__).parents[1] / "results" / "static" / "curve.json"
SETS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")


def main() -> None:
    room.FEWEST_PAIRS = 2  # to measure what the default leaves out
    data = EvaluationData()
    found = read_json(RECORD) if RECORD.exists() else []
    for lines in map(int, sys.argv[1:]):
        texts = wikipedia(lines)
        for contrast in ("none", "auto"):
            if any((one["lines"], one["contrast"]) == (lines, contrast) for one in found):
                continue
            began = time.process_time()
            with tempfile.TemporaryDirectory() as folder:
                model = learn(texts, StaticSettings(contrast=contrast), seed=0, folder=Path(folder))
            seconds = time.process_time() - began
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
            }
            print(about, {name: round(value, 1) for name, value in score.items()}, flush=True)
            found.append({**about, "scores": score, **make_record(command=sys.argv)})
            RECORD.parent.mkdir(parents=True, exist_ok=True)
            write_json(RECORD, found)


if __name__ == "__main__":
    main()
