"""Retrieval: how well queries find their relevant texts by vectors, by words, or by both."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clusterns.evaluation.datasets import Retrieval, digest_of
from clusterns.files import cache_folder
from clusterns.vectors.embed import Embedder
from clusterns.vectors.nearest import unit
from clusterns.vectors.ranking import DEPTH, fuse, largest_first
from clusterns.vectors.words import WordIndex

CUTOFFS = (1, 3, 5, 10)
QUERIES, TEXTS = 64, 50_000  # queries scored at once; texts per shard of the word index
Scores = NDArray[np.float32]


def retrieval_of(embed: Embedder, data: Retrieval) -> dict[str, NDArray[np.float64]]:
    """nDCG@10, MRR@10, MAP@100, and accuracy and recall at several cutoffs: each (queries,), in [0, 1]."""
    words = None if data.by == "vectors" else word_index(data)
    if data.by != "words":
        texts = unit(embed(data.texts, "document"))
        queries = unit(embed(data.queries, "query"))
    found = []
    for start in range(0, len(data.queries), QUERIES):
        some = slice(start, start + QUERIES)
        cosines = None if data.by == "words" else queries[some] @ texts.T
        for row, query in enumerate(data.queries[some]):
            by_vectors = None if cosines is None else cosines[row]
            ranking = rank(by_vectors, words.scores(query) if words else None)
            relevant = [*data.relevant[start + row]]
            found.append(measures(np.isin(ranking, relevant), len(relevant)))
    return {name: np.array([each[name] for each in found]) for name in found[0]}


def word_index(data: Retrieval) -> WordIndex:
    """The BM25 index of the texts, kept in the cache."""
    digest = digest_of(data.texts, np.array([]))
    parts = [data.texts[start : start + TEXTS] for start in range(0, len(data.texts), TEXTS)]
    texts = pa.chunked_array([pa.array(part, pa.string()) for part in parts])
    return WordIndex.open(cache_folder("words") / digest, texts, digest)


def rank(by_vectors: Scores | None, by_words: Scores | None) -> NDArray[np.int64]:
    """The best texts by one or both (n,) scores, at most 100, best first.

    By both: the union of the best of each, ranked by the fused scores of every candidate.
    """
    if by_words is None:
        assert by_vectors is not None
        return largest_first(by_vectors, DEPTH)
    matches = largest_first(by_words, DEPTH)
    matches = matches[by_words[matches] > 0]
    if by_vectors is None:
        return matches
    candidates = np.union1d(largest_first(by_vectors, DEPTH), matches)
    return candidates[largest_first(fuse(by_vectors[candidates], by_words[candidates]), DEPTH)]


def measures(hits: NDArray[np.bool_], relevant: int) -> dict[str, float]:
    """The measures of one query.

    Args:
        hits: (at most 100,) which ranked texts are relevant, best first.
        relevant: number of relevant texts.
    """
    ranks = np.flatnonzero(hits) + 1.0
    ideal = (1 / np.log2(np.arange(2, min(relevant, 10) + 2))).sum()
    found = {
        "ndcg@10": float((1 / np.log2(ranks[ranks <= 10] + 1)).sum() / ideal),
        "mrr@10": float(1 / ranks[0]) if hits[:10].any() else 0.0,
        "map@100": float((np.arange(1, len(ranks) + 1) / ranks).sum() / min(relevant, DEPTH)),
    }
    for cutoff in CUTOFFS:
        found[f"accuracy@{cutoff}"] = float(hits[:cutoff].any())
    for cutoff in (*CUTOFFS, DEPTH):
        found[f"recall@{cutoff}"] = float(hits[:cutoff].sum() / relevant)
    return found


def reciprocal_ranks(
    similarities: NDArray[np.floating], relevant: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """1 / rank of the best relevant text of each query: (n,). Ties count half a rank, so that a constant
    embedding does not benefit.

    Args:
        similarities: (n, m) of queries and texts.
        relevant: (n, m). None: the texts on the diagonal.
    """
    relevant = np.eye(len(similarities), dtype=bool) if relevant is None else relevant
    best = np.where(relevant, similarities, -np.inf).max(axis=1, keepdims=True)
    above, level = (
        (~relevant & compared).sum(axis=1)
        for compared in (similarities > best, similarities == best)
    )
    return 1 / (1 + above + level / 2)
