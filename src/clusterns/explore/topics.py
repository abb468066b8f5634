"""Topics of a corpus: clusters of its sentences, their number found without labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clusterns.console import bar
from clusterns.explore.keywords import Words
from clusterns.vectors.nearest import Vectors, unit

FIT = 30_000  # sentences that the middles of topics are found from
TRIED = 3000  # and those that their number is chosen with
MOST_TOPICS = 256
CENTRAL = 10
STRANGERS = 0.9
CHUNK = 20_000


@dataclass(frozen=True)
class Topic:
    """One topic; ``tightness`` is the mean cosine of its sentences with its middle."""

    number: int
    size: int
    words: list[str]
    tightness: float
    central: list[int]


@dataclass(frozen=True)
class Topics:
    """The topics of sentences, the largest first.

    Attributes:
        labels: (n,) the topic of each sentence; -1 where it belongs nowhere.
        cosines: (n,) of each sentence with the nearest middle.
        middles: (k, d) unit vectors.
        least: (k,) cosine with the middle that a sentence of the topic has at least.
    """

    labels: NDArray[np.int16]
    cosines: NDArray[np.float32]
    topics: list[Topic]
    middles: Vectors
    least: NDArray[np.float32]

    @property
    def nowhere(self) -> int:
        """How many sentences belong to no topic."""
        return int((self.labels < 0).sum())

    def assign(self, vectors: Vectors) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
        """The topics of new sentences, from their (m, d) vectors: (m,) topics and cosines."""
        nearest, cosines = assigned(unit(vectors), self.middles)
        return np.where(cosines < self.least[nearest], -1, nearest).astype(np.int16), cosines


def find_topics(
    vectors: Vectors,
    texts: Sequence[str],
    count: int | None = None,
    *,
    words: Words | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Topics:
    """Cluster sentences.

    A sentence belongs nowhere where it is no nearer to the middle of its topic than one in ten of
    the sentences of other topics is.

    Args:
        vectors: (n, d) unit vectors.
        texts: the n sentences, for typical words.
        count: number of topics; None: chosen by the silhouette.
        words: the words of ``texts``, where they are counted already.
        seed: of the clustering.
        progress: whether to show a bar.
    """
    random = np.random.default_rng(seed)
    rows = random.permutation(len(vectors))
    if count is None:
        sample = np.asarray(vectors[np.sort(rows[: 2 * TRIED])], dtype=np.float32)
        count = choose_count(random.permutation(sample), seed, progress)
    fit = np.asarray(vectors[np.sort(rows[:FIT])], dtype=np.float32)
    middles = spherical_middles(fit, min(count, len(np.unique(fit, axis=0))), seed)
    nearest, cosines = assigned(vectors, middles)
    least = least_cosines(vectors, middles, nearest, rows[:FIT])
    member = cosines >= least[nearest]
    # The largest topic is number 0.
    order = np.argsort(-np.bincount(nearest[member], minlength=len(middles)), kind="stable")
    middles, least = middles[order], least[order]
    labels = np.where(member, np.argsort(order)[nearest], -1).astype(np.int16)
    words = words or Words(texts)
    typical = words.typical(labels.astype(np.int64), len(middles))
    topics = [
        _topic(number, labels, cosines, typical[number], texts) for number in range(len(middles))
    ]
    return Topics(labels, cosines, topics, middles, least)


def choose_count(sample: Vectors, seed: int, progress: bool = True) -> int:
    """The number of clusters with the largest mean silhouette.

    Middles are found from one half of the sample, the silhouette is of the other half.

    Args:
        sample: (n, d) unit vectors in random order.
        seed: of the clustering.
        progress: whether to show a bar.
    """
    from sklearn.metrics import silhouette_score

    half = len(sample) // 2
    first, second = sample[:half], sample[half:]
    most = min(MOST_TOPICS, half // 5)
    counts = sorted({round(2 ** (power / 2)) for power in range(2, 17)})
    counts = [count for count in counts if count <= most]
    if not counts:
        return 1 if len(sample) < 4 else 2
    scores = []
    for count in bar(counts, desc="Number of topics", shown=progress):
        nearest, _ = assigned(second, spherical_middles(first, count, seed))
        several = 1 < len(np.unique(nearest)) < len(second)
        scores.append(silhouette_score(second, nearest, metric="cosine") if several else -1.0)
    return counts[int(np.argmax(scores))]


def spherical_middles(vectors: Vectors, count: int, seed: int) -> Vectors:
    """Middles of K-means on unit vectors, themselves of length 1: (count, d)."""
    from sklearn.cluster import KMeans

    found = KMeans(count, n_init=1, max_iter=50, random_state=seed).fit(vectors)
    return unit(found.cluster_centers_)


def assigned(vectors: Vectors, middles: Vectors) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The nearest middle of each vector, and the cosine with it."""
    nearest, cosines = [], []
    for start in range(0, len(vectors), CHUNK):
        similar = np.asarray(vectors[start : start + CHUNK], dtype=np.float32) @ middles.T
        nearest.append(similar.argmax(axis=1))
        cosines.append(similar.max(axis=1))
    return np.concatenate(nearest), np.concatenate(cosines)


def least_cosines(
    vectors: Vectors,
    middles: Vectors,
    nearest: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> NDArray[np.float32]:
    """For each topic the cosine that one in ten sentences of other topics exceeds: (k,)."""
    if len(middles) < 2:
        return np.full(len(middles), -1.0, dtype=np.float32)
    rows = np.sort(rows)
    similar = np.asarray(vectors[rows], dtype=np.float32) @ middles.T
    least = [
        np.quantile(similar[nearest[rows] != number, number], STRANGERS)
        for number in range(len(middles))
    ]
    return np.array(least, dtype=np.float32)


def _topic(
    number: int,
    labels: NDArray[np.int16],
    cosines: NDArray[np.float32],
    words: list[str],
    texts: Sequence[str],
) -> Topic:
    members = np.flatnonzero(labels == number)
    best = members[np.argsort(-cosines[members], kind="stable")]
    # A sentence that is there twice is one example.
    central = {str(texts[int(row)]): int(row) for row in reversed(best[: 5 * CENTRAL])}
    tightness = float(cosines[members].mean()) if len(members) else 0.0
    return Topic(number, len(members), words, tightness, list(reversed(central.values()))[:CENTRAL])
