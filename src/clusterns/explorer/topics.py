"""Topics of a corpus: clusters of its sentences, whose number is found without labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from clusterns.console import bar
from clusterns.errors import UserError
from clusterns.explorer.keywords import Keywords
from clusterns.vectors.nearest import Vectors, nearest, unit

FIT_SIZE = 30_000  # sentences that centroids are fitted to
SAMPLE_SIZE = 3000  # sentences per half of the sample that the number of topics is chosen with
MAX_TOPICS = 256
N_CENTRAL = 10
OUTLIER_QUANTILE = 0.9

Labels = NDArray[np.int16]


@dataclass(frozen=True)
class Topic:
    """One topic; ``cohesion`` is the mean cosine of its sentences with their centroid."""

    number: int
    size: int
    words: list[str]
    cohesion: float
    central: list[int]


@dataclass(frozen=True)
class TopicNode:
    """Two topics (or nodes) that are merged into one in the hierarchy of topics.

    Attributes:
        number: nodes are numbered after the topics.
        children: the two numbers that are merged.
        cosine: mean cosine between their topics.
        size: number of sentences.
        words: keywords.
    """

    number: int
    children: tuple[int, int]
    cosine: float
    size: int
    words: list[str]


@dataclass(frozen=True)
class Topics:
    """The topics of sentences, largest first.

    Attributes:
        labels: (n,) the topic of each sentence; -1 for outliers.
        cosines: (n,) cosine of each sentence with its nearest centroid.
        topics: their sizes, keywords and central sentences.
        centroids: (c, d) unit vectors.
        min_cosines: (c,) sentences below this cosine are outliers.
        topic_of: (c,) the topic of each centroid: after merging, a topic has several.
    """

    labels: Labels
    cosines: NDArray[np.float32]
    topics: list[Topic]
    centroids: Vectors
    min_cosines: NDArray[np.float32]
    topic_of: Labels
    texts: Sequence[str] = field(repr=False)
    keywords: Keywords = field(repr=False)

    @property
    def outliers(self) -> int:
        """Number of sentences without a topic."""
        return int((self.labels < 0).sum())

    def assign(self, vectors: Vectors) -> tuple[Labels, NDArray[np.float32]]:
        """Assign topics to new sentences by their (m, d) embeddings; returns topics and cosines."""
        own, cosines = nearest_centroids(unit(vectors), self.centroids)
        outlier = cosines < self.min_cosines[own]
        return np.where(outlier, -1, self.topic_of[own]).astype(np.int16), cosines

    def merge(self, groups: Sequence[Sequence[int]]) -> Topics:
        """Merge the topics of each group into one."""
        target = np.arange(len(self.topics))
        for group in groups:
            wrong = [topic for topic in group if not 0 <= topic < len(target)]
            if wrong:
                raise UserError(
                    f"cannot merge topic {wrong[0]}: topics go from 0 to {len(target) - 1}."
                )
            target[np.isin(target, target[list(group)])] = target[group[0]]
        return self._merged(target)

    def merge_to(self, count: int) -> Topics:
        """Merge the most similar topics until ``count`` remain."""
        from scipy.cluster.hierarchy import cut_tree

        if count >= len(self.topics):
            return self
        return self._merged(cut_tree(self._linkage, n_clusters=count)[:, 0])

    def _merged(self, target: NDArray[np.integer]) -> Topics:
        labels = np.where(self.labels < 0, -1, target[self.labels])
        return describe(
            labels, self.cosines, self.centroids, self.min_cosines, target[self.topic_of],
            self.texts, self.keywords,
        )  # fmt: skip

    @cached_property
    def _linkage(self) -> NDArray[np.float64]:
        from scipy.cluster.hierarchy import linkage

        means = [self.centroids[self.topic_of == n].mean(axis=0) for n in range(len(self.topics))]
        return linkage(unit(np.stack(means)), "average", metric="cosine")

    @cached_property
    def tree(self) -> list[TopicNode]:
        """The merges of topics, most similar first: one node per merge."""
        count = len(self.topics)
        if count < 2:
            return []
        holds = np.eye(2 * count - 1, count, dtype=bool)
        for n, (one, other) in enumerate(self._linkage[:, :2].astype(int)):
            holds[count + n] = holds[one] | holds[other]
        words = self.keywords.of_groups(self.labels, count, unions=holds[count:])
        sizes = holds @ np.array([topic.size for topic in self.topics])
        return [
            TopicNode(
                count + n,
                (int(one), int(other)),
                float(1 - distance),
                int(sizes[count + n]),
                words[n],
            )
            for n, (one, other, distance, _) in enumerate(self._linkage)
        ]


def find_topics(
    vectors: Vectors,
    texts: Sequence[str],
    count: int | None = None,
    *,
    seed: int = 0,
    outliers: bool = True,
    progress: bool = True,
) -> Topics:
    """Cluster sentences.

    A sentence is an outlier if it is no closer to the centroid of its topic than one in ten of the
    sentences of other topics.

    Args:
        vectors: (n, d) unit vectors.
        texts: the n sentences, for keywords.
        count: number of topics; None to choose it by the silhouette.
        seed: random seed.
        outliers: whether sentences may stay without a topic.
        progress: whether to show a progress bar.
    """
    random = np.random.default_rng(seed)
    rows = random.permutation(len(vectors))
    if count is None:
        sample = np.asarray(vectors[np.sort(rows[: 2 * SAMPLE_SIZE])], dtype=np.float32)
        count = choose_count(random.permutation(sample), seed, progress)
    fit = np.asarray(vectors[np.sort(rows[:FIT_SIZE])], dtype=np.float32)
    centroids = spherical_centroids(fit, min(count, len(np.unique(fit, axis=0))), seed)
    own, cosines = nearest_centroids(vectors, centroids)
    limits = outlier_limits(vectors, centroids, own, rows[:FIT_SIZE])
    if not outliers:
        limits[:] = -1
    labels = np.where(cosines < limits[own], -1, own)
    each = np.arange(len(centroids))
    return describe(labels, cosines, centroids, limits, each, texts, Keywords(texts))


def describe(
    labels: NDArray[np.integer],
    cosines: NDArray[np.float32],
    centroids: Vectors,
    min_cosines: NDArray[np.float32],
    topic_of: NDArray[np.integer],
    texts: Sequence[str],
    keywords: Keywords,
) -> Topics:
    """Number topics by size, largest first, and find their keywords and central sentences."""
    found, clusters = np.unique(topic_of, return_inverse=True)
    sizes = np.array([(labels == topic).sum() for topic in found])
    rank = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")
    number = np.full(int(found.max()) + 2, -1)  # the last entry is for outliers
    number[found] = rank
    labels = number[labels]
    words = keywords.of_groups(labels, len(found))
    topics = []
    for topic in range(len(found)):
        members = np.flatnonzero(labels == topic)
        best = members[np.argsort(-cosines[members], kind="stable")]
        # List identical sentences once.
        central = {texts[int(row)]: int(row) for row in reversed(best[: 5 * N_CENTRAL])}
        cohesion = float(cosines[members].mean()) if len(members) else 0.0
        examples = list(reversed(central.values()))[:N_CENTRAL]
        topics.append(Topic(topic, len(members), words[topic], cohesion, examples))
    return Topics(
        labels.astype(np.int16), cosines, topics, centroids, min_cosines,
        rank[clusters].astype(np.int16), texts, keywords,
    )  # fmt: skip


def choose_count(sample: Vectors, seed: int, progress: bool = True) -> int:
    """The number of clusters with the largest mean silhouette.

    Centroids are fitted to one half of the sample; the silhouette is measured on the other half.

    Args:
        sample: (n, d) unit vectors in random order.
        seed: random seed.
        progress: whether to show a progress bar.
    """
    from sklearn.metrics import silhouette_score

    half = len(sample) // 2
    first, second = sample[:half], sample[half:]
    limit = min(MAX_TOPICS, half // 5)
    counts = sorted({round(2 ** (power / 2)) for power in range(2, 17)})
    counts = [count for count in counts if count <= limit]
    if not counts:
        return 1 if len(sample) < 4 else 2
    scores = []
    for count in bar(counts, desc="Number of topics", shown=progress):
        labels, _ = nearest_centroids(second, spherical_centroids(first, count, seed))
        several = 1 < len(np.unique(labels)) < len(second)
        scores.append(silhouette_score(second, labels, metric="cosine") if several else -1.0)
    return counts[int(np.argmax(scores))]


def spherical_centroids(vectors: Vectors, count: int, seed: int) -> Vectors:
    """Centroids of K-means on unit vectors, scaled to length 1: (count, d)."""
    from sklearn.cluster import KMeans

    found = KMeans(count, n_init=1, max_iter=50, random_state=seed).fit(vectors)
    return unit(found.cluster_centers_)


def nearest_centroids(
    vectors: Vectors, centroids: Vectors
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The nearest centroid of each vector, and its cosine."""
    cosines, rows = nearest(vectors, centroids, 1)
    return rows[:, 0], cosines[:, 0]


def outlier_limits(
    vectors: Vectors, centroids: Vectors, own: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.float32]:
    """For each centroid, a quantile of its cosine with sentences of other topics: (k,).

    Args:
        vectors: (n, d).
        centroids: (k, d).
        own: (n,) the centroid of each sentence.
        rows: the sentences to measure.
    """
    if len(centroids) < 2:
        return np.full(len(centroids), -1.0, dtype=np.float32)
    rows = np.sort(rows)
    similarity = np.asarray(vectors[rows], dtype=np.float32) @ centroids.T
    limits = [
        np.quantile(similarity[own[rows] != number, number], OUTLIER_QUANTILE)
        for number in range(len(centroids))
    ]
    return np.array(limits, dtype=np.float32)
