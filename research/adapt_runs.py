"""Adapt a good model to real domains, and what a user would do instead, on the same lines.

    CLUSTERNS_DATA=... python research/adapt_runs.py MODEL runs/adapt --seeds 1 2 3
    CLUSTERNS_DATA=... python research/adapt_runs.py MODEL runs/adapt --methods simcse crops clusterns tsdae gist

A cell is a domain, a method and a seed; one that has a record is left alone, so a stopped script goes on. Half
of the lines of a domain, at most LINES, are learned from; at most LINES others are judged on, other lines for each
seed: the share of the ten nearest with the same class (kNN), AMI of K-means with as many clusters as classes (20
to 80 starts), for docstrings the mean reciprocal rank of a summary finding its rest, and STS-B test. Records go to
results/adapt/guarded, one folder per model, one thread per cell.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense

from adapt_rivals import RIVALS
from clusterns import adapt, load_base
from clusterns.adaptation.local_map import LocalMap
from clusterns.evaluation.catalog import EvaluationData
from clusterns.evaluation.clustering import (
    Labels,
    adjusted_mutual_information,
    cluster_seeds,
)
from clusterns.evaluation.datasets import digest_of
from clusterns.evaluation.retrieval import reciprocal_ranks
from clusterns.evaluation.sts import spearman
from clusterns.record import make_record
from clusterns.vectors.nearest import Vectors, all_nearest, unit

Encode = Callable[[Sequence[str]], Vectors]

RESULTS = Path(__file__).parents[1] / "results" / "adapt"
DATA = Path(os.environ.get("CLUSTERNS_DATA", ""))
SHORT = {
    "StackOverflow": "stackoverflow_true_text",
    "SearchSnippets": "search_snippets_true_text",
    "AG": "agnewsdataraw-8000",
    "G-T": "T",
    "Tweet": "tweet-original-order.txt",
}
DOMAINS = (*SHORT, "DBpedia", "docstrings")
LINES = 3200
# The fewer the clusters, the more one start of K-means differs from another, and the less it costs.
FEW_CLUSTERS, STARTS, FEWER_STARTS = 20, 80, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="the good model")
    parser.add_argument("output", type=Path, help="folder of the runs")
    parser.add_argument("--domains", nargs="+", default=list(DOMAINS), choices=DOMAINS)
    parser.add_argument("--methods", nargs="+", default=["adapt"], choices=["adapt", *RIVALS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    given = parser.parse_args()
    folder = RESULTS / "guarded" / Path(given.model).name
    folder.mkdir(parents=True, exist_ok=True)
    for seed in given.seeds:
        for domain in given.domains:
            for method in given.methods:
                record = folder / f"{domain}-{method}-{seed}.json"
                if not record.exists():
                    values = cell(domain, method, seed, given.model, given.output)
                    record.write_text(json.dumps(values, indent=2) + "\n", "utf-8")
                    print(record.name, json.dumps(values["after"]), flush=True)


def cell(domain: str, method: str, seed: int, name: str, output: Path) -> dict[str, Any]:
    """Scores of the start and of what a method made of it."""
    texts, documents, judge = docstrings() if domain == "docstrings" else short_text(domain, seed)
    folder = output / f"{domain}-{method}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    corpus = folder / "corpus.jsonl"
    with corpus.open("w", encoding="utf-8") as file:
        for text, document in zip(texts, documents, strict=True):
            file.write(json.dumps({"text": text, "document": document}) + "\n")
    facts: dict[str, Any] = {}
    begun = time.process_time()
    if method == "adapt":
        purpose = "search" if domain == "docstrings" else "topics"
        run = adapt(
            corpus, folder / "run", base=name, purpose=purpose, seed=seed, column="text", quiet=True,
            document="document" if purpose == "search" else None,
        )  # fmt: skip
        model, facts = SentenceTransformer(str(run.model)), run.result.facts
    else:
        model = RIVALS[method](name, texts, corpus, folder / "run", seed)
    seconds = time.process_time() - begun
    before = start_scores(domain, seed, name, judge)
    shutil.rmtree(folder)
    return {
        "domain": domain, "method": method, "seed": seed, "base": Path(name).name, "lines": len(texts),
        "before": before, "after": scores(model, judge), "facts": facts,
        "processor_seconds": round(seconds, 1), "record": {**make_record(), "command": command()},
    }  # fmt: skip


def command() -> str:
    return " ".join(["python", Path(sys.argv[0]).name, Path(sys.argv[1]).name, *sys.argv[3:]])


KNOWN: dict[tuple[str, int, str], dict[str, float]] = {}


def start_scores(
    domain: str, seed: int, name: str, judge: Callable[[Encode], dict[str, float]]
) -> dict[str, float]:
    if (domain, seed, name) not in KNOWN:
        KNOWN[domain, seed, name] = scores(load_base(name), judge)
    return KNOWN[domain, seed, name]


def scores(
    model: SentenceTransformer, judge: Callable[[Encode], dict[str, float]]
) -> dict[str, float]:
    pairs = EvaluationData().pairs("STS-B")
    encode = remembering(model)
    stsb = spearman(
        np.sum(encode(pairs.sentences1) * encode(pairs.sentences2), axis=1), pairs.scores
    )
    return {key: round(value, 3) for key, value in {**judge(encode), "STS-B": 100 * stsb}.items()}


REMEMBERED: dict[str, Vectors] = {}


def remembering(model: SentenceTransformer) -> Encode:
    """Unit vectors of texts. A model that is an encoder with a map behind it, as `adapt` leaves one, shares
    the encoder's vectors with every other such model: they are made once."""
    modules = [*model]
    if [type(module) for module in modules[-3:-1]] != [Dense, Dense]:
        return lambda texts: unit(model.encode(list(texts), batch_size=64, show_progress_bar=False))
    plain, local = SentenceTransformer(modules=modules[:-3]), extract_map(model)

    def encode(texts: Sequence[str]) -> Vectors:
        key = digest_of(texts, np.zeros(0))
        if key not in REMEMBERED:
            REMEMBERED[key] = remembering(plain)(texts)
        return unit(local(REMEMBERED[key]))

    return encode


def extract_map(model: SentenceTransformer) -> LocalMap:
    """The map of a model that `adapt` has saved."""
    *_, near, moved, _ = model
    count = near.out_features - 2 * near.in_features
    return LocalMap(
        near.linear.weight.detach()[:count].cpu().numpy(),
        moved.linear.weight.detach()[:, :count].T.cpu().numpy(),
        -float(near.linear.bias.detach()[0]),
    )


@cache
def short_text(
    domain: str, seed: int
) -> tuple[list[str], list[int], Callable[[Encode], dict[str, float]]]:
    """Lines to learn from, a document each, and the judge on the others."""
    learned, judged, classes = parted(domain, seed)
    return learned, list(range(len(learned))), lambda encode: quality(encode(judged), classes)


def parted(domain: str, seed: int = 0) -> tuple[list[str], list[str], Labels]:
    """Lines to learn from, lines to judge on, and the classes of these."""
    rows = dbpedia() if domain == "DBpedia" else labelled(DATA / "short-text" / SHORT[domain])
    rows = list({text: (label, text) for label, text in rows}.values())
    order = np.random.default_rng(seed).permutation(len(rows))
    cut = min(len(rows) // 2, LINES)
    learned, judged = order[:cut], order[cut : cut + LINES]
    classes = np.unique([rows[row][0] for row in judged], return_inverse=True)[1]
    return [rows[row][1] for row in learned], [rows[row][1] for row in judged], classes


def quality(vectors: Vectors, classes: Labels) -> dict[str, float]:
    """Of the ten nearest, how many have the same class; and the clusters of K-means against the classes."""
    _, near = all_nearest(vectors, 10, progress=False)
    count = int(classes.max()) + 1
    starts = STARTS if count <= FEW_CLUSTERS else FEWER_STARTS
    clusters = cluster_seeds(vectors, count, list(range(starts)))
    return {
        "kNN": 100 * float((classes[near] == classes[:, None]).mean()),
        "AMI": 100 * float(np.mean([adjusted_mutual_information(classes, c) for c in clusters])),
    }


def labelled(file: Path) -> list[tuple[str, str]]:
    lines = file.read_text("utf-8", "replace").splitlines()
    pairs = [line.strip().split("\t", 1) for line in lines]
    return [(label, text.strip()) for label, text in (pair for pair in pairs if len(pair) == 2)]


def dbpedia() -> list[tuple[str, str]]:
    with (DATA / "dbpedia14" / "test.csv").open(encoding="utf-8", newline="") as file:
        return [(row[0], row[2].strip()) for row in csv.reader(file)]


@cache
def docstrings() -> tuple[list[str], list[int], Callable[[Encode], dict[str, float]]]:
    """Sentences of docstrings, and the retrieval of held-out ones that the quickstart proves with."""
    from clusterns.data.docstrings import docstring_corpus

    objects = docstring_corpus(progress=False).objects
    explained = objects.filter(lambda row: len(row["rest"]) > 0)
    kept = explained.filter(lambda row: row["held_out"]).shuffle(seed=0)
    distinct = list({row["summary"]: row for row in kept}.values())[:500]
    summaries = [row["summary"] for row in distinct]
    rests = [" ".join(row["rest"]) for row in distinct]
    learned = explained.filter(lambda row: not row["held_out"]).shuffle(seed=0)
    texts: list[str] = []
    documents: list[int] = []
    for number, row in enumerate(learned):
        sentences = [row["summary"], *row["rest"]][:6]
        texts += sentences
        documents += [number] * len(sentences)
        if len(texts) >= LINES:
            break

    def judge(encode: Encode) -> dict[str, float]:
        found = encode(summaries) @ encode(rests).T
        return {"MRR": 100 * float(reciprocal_ranks(found).mean())}

    return texts, documents, judge


if __name__ == "__main__":
    main()
