"""How much faster the evaluation is than SentEval's way as the SimCSE family uses it.

    CLUSTERNS_DATA=... python -m benchmarks evaluation

SentEval's way: within each set the pairs are sorted by the first sentence's length; batches of 128
of first and then of second sentences are encoded; of STS-B and SICK all splits are. Ours: each
distinct sentence of what is scored once, sorted by tokens, in batches of 32. Both in one process,
alternating, with the same model; medians of wall and of processor time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.harness import alternate, description
from clusterns.encoder.load import load_model
from clusterns.evaluation.catalog import SUITES, EvaluationData
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.sts import cosines_of, pair_cosines, spearman
from clusterns.vectors.embed import Embedder

BATCH = 128
MODEL, POOLING, ROUNDS = "minibert", "mean", 3
SPLITS = {name: (name, f"{name} dev", f"{name} train") for name in ("STS-B", "SICK-R")}


def senteval_cosines(model: Any, pairs: ScoredPairs) -> np.ndarray:
    """Batches of pairs in the order of the first sentence's length."""
    parts = list(pairs.subsets.values()) or [slice(0, len(pairs.scores))]
    cosines = np.empty(len(pairs.scores))
    for part in parts:
        rows = range(*part.indices(len(pairs.scores)))
        order = sorted(rows, key=lambda i: len(pairs.sentences1[i].split()))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            first = model.encode([pairs.sentences1[i] for i in batch], batch_size=BATCH)
            second = model.encode([pairs.sentences2[i] for i in batch], batch_size=BATCH)
            cosines[batch] = pair_cosines(first, second)
    return cosines


def senteval_way(model: Any, data: EvaluationData, names: Iterable[str]) -> dict[str, float]:
    scores = {}
    for name in names:
        for split in SPLITS.get(name, (name,)):
            pairs = data.pairs(split)
            scores[split] = spearman(senteval_cosines(model, pairs), pairs.scores)
    return scores


def our_way(model: Any, data: EvaluationData, names: Iterable[str]) -> dict[str, float]:
    embed = Embedder(model)
    sets = {name: data.pairs(name) for name in names}
    embed([sentence for pairs in sets.values() for sentence in pairs.sentences])
    return {name: spearman(cosines_of(embed, pairs), pairs.scores) for name, pairs in sets.items()}


def measure(
    theirs: Callable[[], dict[str, float]], ours: Callable[[], dict[str, float]]
) -> dict[str, Any]:
    """Alternate the two ways; check that they agree."""
    scores: dict[str, dict[str, float]] = {}
    times = alternate(
        {
            "senteval": lambda: scores.update(theirs=theirs()),
            "clusterns": lambda: scores.update(ours=ours()),
        },
        ROUNDS,
        warm_up=False,
    )
    for name, score in scores["ours"].items():
        assert abs(score - scores["theirs"][name]) < 1e-4, (name, score)
    old, new = times["senteval"], times["clusterns"]
    return {
        "senteval_seconds": old["seconds"],
        "clusterns_seconds": new["seconds"],
        "times_faster": old["seconds"] / new["seconds"],
        "senteval_processor_seconds": old["processor_seconds"],
        "clusterns_processor_seconds": new["processor_seconds"],
        "times_less_processor": old["processor_seconds"] / new["processor_seconds"],
        "rounds": ROUNDS,
    }


def run() -> dict[str, Any]:
    """Measure both."""
    data = EvaluationData()
    model = load_model(MODEL, POOLING)
    splits = [split for name in SUITES["sts"] for split in SPLITS.get(name, (name,))]
    validation = [split for found in SPLITS.values() for split in found]
    model.encode(["warm up"] * 8)
    return {
        "model": MODEL,
        "pooling": POOLING,
        "results": {
            "seven STS sets": {
                "senteval_sentences": count(data, splits),
                "clusterns_sentences": len(distinct(data, SUITES["sts"])),
                **measure(
                    lambda: senteval_way(model, data, SUITES["sts"]),
                    lambda: our_way(model, data, SUITES["sts"]),
                ),
            },
            "a validation in training (STS-B dev)": {
                "senteval_sentences": count(data, validation),
                "clusterns_sentences": len(distinct(data, ["STS-B dev"])),
                **measure(
                    lambda: senteval_way(model, data, SPLITS),
                    lambda: our_way(model, data, ["STS-B dev"]),
                ),
            },
        },
    }


def distinct(data: EvaluationData, names: Iterable[str]) -> set[str]:
    return {sentence for name in names for sentence in data.pairs(name).sentences}


def count(data: EvaluationData, names: Iterable[str]) -> int:
    return sum(len(data.pairs(name).sentences) for name in names)


def markdown(record: dict[str, Any]) -> str:
    """The table."""
    lines = [
        "## Evaluation, against SentEval's way",
        "",
        f"{description(__doc__)} Model: {record['model']}, {record['pooling']} pooling.",
        "",
        "| | sentences encoded, SentEval / ours | seconds, SentEval / ours | times faster "
        "| processor seconds, SentEval / ours | times less |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, r in record["results"].items():
        lines.append(
            f"| {name} | {r['senteval_sentences']:,} / {r['clusterns_sentences']:,} "
            f"| {r['senteval_seconds']:.1f} / {r['clusterns_seconds']:.1f} "
            f"| **{r['times_faster']:.1f}** "
            f"| {r['senteval_processor_seconds']:.1f} / {r['clusterns_processor_seconds']:.1f} "
            f"| {r['times_less_processor']:.1f} |"
        )
    return "\n".join(lines) + "\n"
