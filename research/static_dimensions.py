"""What the first 256 and 512 dimensions of a static model are worth on STS-B dev and the seven STS sets.

    CLUSTERNS_DATA=... python research/static_dimensions.py runs/static/model NAME

The result goes to results/static/dimensions.json, by NAME.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

from clusterns.evaluation.catalog import EvaluationData
from clusterns.evaluation.sts import cosines_of, spearman
from clusterns.files import read_json, write_json
from clusterns.record import make_record
from clusterns.vectors.embed import Embedder

RECORD = Path(__file__).parents[1] / "results" / "static" / "dimensions.json"
SETS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")


def main() -> None:
    data, scores = EvaluationData(), {}
    for dimensions in (256, 512, 1024):
        model = SentenceTransformer(sys.argv[1], device="cpu", truncate_dim=dimensions)
        embed = Embedder(model)
        found = {
            name: 100 * spearman(cosines_of(embed, data.pairs(name)), data.pairs(name).scores)
            for name in ("STS-B dev", *SETS)
        }
        scores[dimensions] = {**found, "Avg.": float(np.mean([found[name] for name in SETS]))}
        print(
            dimensions,
            {name: round(value, 1) for name, value in scores[dimensions].items()},
            flush=True,
        )
    known = read_json(RECORD) if RECORD.exists() else {}
    record = make_record(command=["research/static_dimensions.py", *sys.argv[2:]])
    write_json(RECORD, {**known, sys.argv[2]: {"scores": scores, **record}})


if __name__ == "__main__":
    main()
