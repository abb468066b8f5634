"""How much faster the evaluation is than SentEval's way as the SimCSE family uses it.

    CLUSTERNS_DATA=... python benchmarks/evaluation.py

SentEval's way: within each set the pairs are sorted by the first sentence's length; batches of 128
of first and then of second sentences are encoded; of STS-B and SICK all splits are. Ours: each
distinct sentence of what is scored once, sorted by tokens, in batches of 32. Both in one process,
alternating, with the same model; medians of wall and of processor time.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from clusterns.evaluation import EvaluationData, ScoredPairs
from clusterns.evaluation.catalogue import STS
from clusterns.evaluation.embed import Embedder
from clusterns.evaluation.models import load_model
from clusterns.evaluation.sts import cosines_of, pair_cosines, spearman
from clusterns.files import write_json

BATCH = 128
HERE = Path(__file__).parent
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


def timed(work: Callable[[], dict[str, float]]) -> tuple[float, float, dict[str, float]]:
    wall, processor = time.perf_counter(), time.process_time()
    scores = work()
    return time.perf_counter() - wall, time.process_time() - processor, scores


def measure(
    theirs: Callable[[], dict[str, float]], ours: Callable[[], dict[str, float]], rounds: int
) -> dict[str, Any]:
    """Alternate the two ways; check that they agree."""
    times: dict[str, list[list[float]]] = {"senteval": [], "clusterns": []}
    for _ in range(rounds):
        *old_times, old = timed(theirs)
        *new_times, new = timed(ours)
        times["senteval"].append(old_times)
        times["clusterns"].append(new_times)
        for name, score in new.items():
            assert abs(score - old[name]) < 1e-4, (name, score, old[name])
    medians = {
        way: [statistics.median(column) for column in zip(*found, strict=True)]
        for way, found in times.items()
    }
    return {
        "senteval_seconds": medians["senteval"][0],
        "clusterns_seconds": medians["clusterns"][0],
        "times_faster": medians["senteval"][0] / medians["clusterns"][0],
        "senteval_processor_seconds": medians["senteval"][1],
        "clusterns_processor_seconds": medians["clusterns"][1],
        "times_less_processor": medians["senteval"][1] / medians["clusterns"][1],
        "rounds": rounds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="minibert")
    parser.add_argument("--pooling", default="mean")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    data = EvaluationData()
    model = load_model(arguments.model, arguments.pooling)
    splits = [split for name in STS for split in SPLITS.get(name, (name,))]
    validation = [split for found in SPLITS.values() for split in found]
    counts = {
        "seven": (count(data, splits), len(distinct(data, STS))),
        "validation": (count(data, validation), len(distinct(data, ["STS-B dev"]))),
    }
    model.encode(["warm up"] * 8)
    results = {
        "seven STS sets": counts_of(*counts["seven"])
        | measure(
            lambda: senteval_way(model, data, STS),
            lambda: our_way(model, data, STS),
            arguments.rounds,
        ),
        "a validation in training (STS-B dev)": counts_of(*counts["validation"])
        | measure(
            lambda: senteval_way(model, data, SPLITS),
            lambda: our_way(model, data, ["STS-B dev"]),
            arguments.rounds,
        ),
    }
    record = {
        "model": arguments.model,
        "pooling": arguments.pooling,
        "threads": torch.get_num_threads(),
        "machine": f"{platform.system()} {platform.machine()}",
        "torch": torch.__version__,
        "results": results,
    }
    write_json(HERE / "results" / "evaluation.json", record)
    (HERE / "EVALUATION.md").write_text(markdown(record), "utf-8")
    print(markdown(record))


def distinct(data: EvaluationData, names: Iterable[str]) -> set[str]:
    return {sentence for name in names for sentence in data.pairs(name).sentences}


def count(data: EvaluationData, names: Iterable[str]) -> int:
    return sum(len(data.pairs(name).sentences) for name in names)


def counts_of(theirs: int, ours: int) -> dict[str, int]:
    return {"senteval_sentences": theirs, "clusterns_sentences": ours}


def markdown(record: dict[str, Any]) -> str:
    lines = [
        "# Evaluation, against SentEval's way",
        "",
        (__doc__ or "").split("\n\n")[2].replace("\n", " ").strip(),
        "",
        f"Written by `benchmarks/evaluation.py`: {record['model']} ({record['pooling']} pooling), "
        f"{record['threads']} thread(s), torch "
        f"{record['torch']}. Other work ran on the machine: read the ratios.",
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


if __name__ == "__main__":
    main()
