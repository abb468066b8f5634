"""Is there a score without labels that says how far to adapt a model for topics? Candidates, on every domain.

    CLUSTERNS_DATA=... python research/adapt_scores.py MODEL

A *way* leads from the vectors of the start to others: to those of `clusterns adapt`, or to some that are meant to harm.
At all shares of each way, every candidate scores the vectors of 300 lines that nothing was learned from, as many as
`clusterns adapt` holds out; kNN and AMI of these and more, with the classes, say how good they are. A domain has one
record in results/adapt/scores/MODEL; one that is there is left alone.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from adapt_runs import DOMAINS, RESULTS, Encode, command, parted, quality, remembering
from clusterns import load_base
from clusterns.adaptation.general_text import general_text
from clusterns.adaptation.local_map import fit_map
from clusterns.adaptation.scores import (
    KEPT,
    KEPT_GENERAL,
    MAX_AGREEMENT_TEXTS,
    agreement,
    common_neighbors,
)
from clusterns.adaptation.settings import TopicSettings
from clusterns.adaptation.targets import smooth
from clusterns.encoder.load import load_tokenizer
from clusterns.evaluation.clustering import adjusted_mutual_information, cluster
from clusterns.evaluation.retrieval import reciprocal_ranks
from clusterns.evaluation.validators import halved
from clusterns.record import make_record
from clusterns.vectors.nearest import Vectors, unit

SEED, LINES, CLUSTERS, BLURRED = 1, 1500, 20, 5
SETTINGS = TopicSettings(base="", seed=SEED)

Way = Callable[[Vectors], Vectors]


@dataclass(frozen=True)
class Seen:
    """What a candidate may look at: vectors of held-out lines and of their halves, all of length 1."""

    lines: Vectors
    firsts: Vectors
    """(m, d) first halves of the lines that have one."""
    seconds: Vectors
    whole: NDArray[np.int64]
    """(m) the line that the halves are of."""


def halves(seen: Seen) -> float:
    """How early a half finds the other one (what `clusterns train` is validated by)."""
    both = seen.firsts @ seen.seconds.T
    return float(np.mean([reciprocal_ranks(each).mean() for each in (both, both.T)]))


def clusters_of_halves(seen: Seen) -> float:
    """How far both halves of a line are in the same cluster."""
    means = KMeans(CLUSTERS, n_init=1, random_state=0).fit(seen.lines)
    return adjusted_mutual_information(means.predict(seen.firsts), means.predict(seen.seconds))


def stable_clusters(seen: Seen) -> float:
    """How far K-means finds the same clusters again from another start."""
    found = [cluster(seen.lines, CLUSTERS, seed) for seed in range(4)]
    pairs = [(a, b) for a in range(4) for b in range(a)]
    return float(np.mean([adjusted_mutual_information(found[a], found[b]) for a, b in pairs]))


def silhouette(seen: Seen) -> float:
    """How much nearer a line is to its cluster than to the next one."""
    return float(silhouette_score(seen.lines, cluster(seen.lines, CLUSTERS, 0), metric="cosine"))


CANDIDATES: dict[str, Callable[[Seen], float]] = {
    # What `clusterns adapt` goes by.
    "common_neighbours": lambda s: common_neighbors(s.lines, s.firsts, s.seconds, s.whole),
    "halves": halves,
    "clusters_of_halves": clusters_of_halves,
    "stable_clusters": stable_clusters,
    "silhouette": silhouette,
}


def ways(learned: Vectors, general: Vectors) -> dict[str, Way]:
    """From the vectors of lines to learn from, of length 1."""
    random = np.random.default_rng(SEED)
    targets, drawn = smooth(learned, SETTINGS), random.permutation(len(learned))

    def local(wanted: Vectors) -> Way:
        landmarks = learned[drawn[: SETTINGS.landmarks]]
        return fit_map(learned, wanted, general, landmarks, SETTINGS)

    centroids = unit(KMeans(BLURRED, n_init=1, random_state=0).fit(learned).cluster_centers_)

    def blurred(vectors: Vectors) -> Vectors:
        weights = np.exp(vectors @ centroids.T / SETTINGS.centroid_temperature)
        return unit((weights / weights.sum(1, keepdims=True)) @ centroids)

    mean = learned.mean(0)
    variances, directions = np.linalg.eigh(np.cov(learned.T))
    whitening = (directions / np.sqrt(np.maximum(variances, 1e-8))) @ directions.T

    return {
        "adapt": local(targets),
        "targets of others": local(targets[random.permutation(len(targets))]),
        "few topics": blurred,
        "whitening": lambda vectors: unit((vectors - mean) @ whitening),
    }


def judged(domain: str, name: str, encode: Encode) -> dict[str, Any]:
    """All candidates on all ways of a domain."""
    texts, lines, classes = parted(domain)
    learned, measured = general_text("", load_tokenizer(name), SEED)
    lines, classes = lines[:LINES], classes[:LINES]
    firsts, seconds, whole = halved(lines[:MAX_AGREEMENT_TEXTS], 2)
    start = [encode(each) for each in (lines, [*firsts, *seconds], measured)]
    found: dict[str, Any] = {}
    all_ways = ways(encode(texts), encode(learned))
    for title, way in all_ways.items():
        ends = [way(each) for each in start]
        found[title] = {}
        for share in (0.0, *SETTINGS.interpolation_weights):
            vectors, parts, general = (
                unit(a + share * (b - a)) if share else a for a, b in zip(start, ends, strict=True)
            )
            seen = Seen(vectors[:MAX_AGREEMENT_TEXTS], *np.split(parts, 2), np.array(whole))
            found[title][str(share)] = {
                **quality(vectors, classes),
                KEPT: agreement(seen.lines, start[0][:MAX_AGREEMENT_TEXTS]),
                KEPT_GENERAL: agreement(general, start[2]),
                **{name: candidate(seen) for name, candidate in CANDIDATES.items()},
            }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="the good model")
    given = parser.parse_args()
    encode = remembering(load_base(given.model))
    for domain in DOMAINS[:-1]:  # docstrings have no classes
        file = RESULTS / "scores" / Path(given.model).name / f"{domain}.json"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            values = {
                "ways": judged(domain, given.model, encode),
                "record": {**make_record(), "command": command()},
            }
            file.write_text(json.dumps(values, indent=1) + "\n", "utf-8")
            print(file.name, flush=True)


if __name__ == "__main__":
    main()
