"""Compare a trained model with its base, on sentences that training did not see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from clusterns.errors import UserError
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.geometry import uniformity
from clusterns.evaluation.retrieval import reciprocal_ranks
from clusterns.evaluation.stats import Measure, bootstrap, generator, spearman_measure
from clusterns.evaluation.sts import cosines_of
from clusterns.evaluation.validators import HalvesEvaluator
from clusterns.explorer.neighbors import NEAREST, NeighborChange, compare_neighbors, mark_changes
from clusterns.explorer.topics import Topics, find_topics
from clusterns.losses.functional import cosine_matrix
from clusterns.vectors.embed import Embedder
from clusterns.vectors.nearest import all_nearest, unit

MAX_SENTENCES = 1000  # enough to see differences, and quick on a CPU
RESAMPLES = 1000
N_EXAMPLES, N_NEIGHBORS = 8, 4

Interval = tuple[float, float]


@dataclass(frozen=True)
class Score:
    """One score of both models, with 95 % intervals over resampled rows."""

    name: str
    rows: int
    before: float
    after: float
    before_interval: Interval | None = None
    after_interval: Interval | None = None
    gain_interval: Interval | None = None
    lower_is_better: bool = False

    @property
    def verdict(self) -> str:
        """Whether the gain is significant given the choice of rows; empty without intervals."""
        if self.gain_interval is None:
            return ""
        low, high = self.gain_interval
        if low <= 0 <= high:
            return "no clear difference"
        return "better" if (high < 0) == self.lower_is_better else "worse"


@dataclass(frozen=True)
class NeighborExample:
    """A sentence with its nearest neighbors before and after: (text, "kept", "gained" or "lost")."""

    text: str
    before: list[tuple[str, str]]
    after: list[tuple[str, str]]


@dataclass(frozen=True)
class ModelComparison:
    """The results of a comparison."""

    sentences: int
    scores: list[Score]
    topics: Topics
    change: NeighborChange
    examples: list[NeighborExample]
    held_out: bool = True
    """Whether training did not see the sentences."""


def compare_models(
    sentences: Sequence[str],
    before: SentenceTransformer,
    after: SentenceTransformer,
    pairs: ScoredPairs | None = None,
    held_out: bool = True,
) -> ModelComparison:
    """Compare two models.

    Args:
        sentences: sentences to embed; exact duplicates are dropped.
        before: the base.
        after: the trained model.
        pairs: the scored pairs that chose the best step, if any.
        held_out: whether training did not see the sentences.
    """
    texts = list(dict.fromkeys(sentences))[:MAX_SENTENCES]
    embedders = [Embedder(model, batch_size=64) for model in (before, after)]
    vectors = [unit(embed(texts)) for embed in embedders]
    tables = [all_nearest(rows, NEAREST, False)[1] for rows in vectors]
    change = compare_neighbors(tables[1], tables[0], vectors[1])
    spread = [uniformity(rows) for rows in vectors]
    return ModelComparison(
        sentences=len(texts),
        scores=[
            *([] if pairs is None else [_pairs_score(embedders, pairs)]),
            *_halves_scores(embedders, texts),
            Score("uniformity", len(texts), spread[0], spread[1], lower_is_better=True),
        ],
        topics=find_topics(vectors[1], texts, progress=False),
        change=change,
        examples=[_example(row, texts, *tables) for row in change.order[:N_EXAMPLES]],
        held_out=held_out,
    )


def scored(
    name: str, rows: int, measure: Measure, *, scale: float = 1.0, lower_is_better: bool = False
) -> Score:
    """Compute a score of both models with its intervals.

    Args:
        name: name of the score.
        rows: number of rows it is computed from.
        measure: maps row counts (rows,) to the scores of both models (2,).
        scale: divisor of the measure.
        lower_is_better: whether lower is better.
    """
    found = bootstrap(measure, rows, RESAMPLES, generator(0, name)) / scale
    resampled = found[1:]
    low, high = np.percentile(
        np.column_stack([resampled, resampled[:, 1] - resampled[:, 0]]), [2.5, 97.5], axis=0
    )
    before, after, gain = ((float(one), float(other)) for one, other in zip(low, high, strict=True))
    values = (float(found[0, 0]), float(found[0, 1]))
    return Score(name, rows, *values, before, after, gain, lower_is_better)


def _pairs_score(embedders: Sequence[Embedder], pairs: ScoredPairs) -> Score:
    cosines = np.column_stack([cosines_of(embed, pairs) for embed in embedders])
    measure = spearman_measure(cosines, pairs.scores)
    return scored(f"{pairs.name}, Spearman", len(pairs.scores), measure, scale=100)


def _halves_scores(embedders: Sequence[Embedder], texts: Sequence[str]) -> list[Score]:
    """The label-free score, and the alignment of the halves of a sentence."""
    try:
        halves = HalvesEvaluator(texts)
    except UserError:  # the sentences are too short to be halved
        return []
    ranks, distances = [], []
    for embed in embedders:
        first, second = (embed(part) for part in (halves.firsts, halves.seconds))
        cosines = cosine_matrix(torch.from_numpy(first), torch.from_numpy(second)).numpy()
        ranks.append((reciprocal_ranks(cosines) + reciprocal_ranks(cosines.T)) / 2)
        distances.append(((unit(first) - unit(second)).astype(np.float64) ** 2).sum(axis=1))
    count = len(halves.firsts)
    return [
        scored("halves find each other, MRR", count, _mean(ranks)),
        scored("alignment of halves", count, _mean(distances), lower_is_better=True),
    ]


def _mean(columns: list[NDArray[np.float64]]) -> Measure:
    values = np.column_stack(columns)
    return lambda counts: counts @ values / counts.sum()


def _example(
    row: int, texts: list[str], before: NDArray[np.int64], after: NDArray[np.int64]
) -> NeighborExample:
    now, then = after[row].tolist(), before[row].tolist()
    marks = mark_changes(now, then)
    new, old = (
        [(texts[r], mark) for r, mark in zip(rows[:N_NEIGHBORS], own, strict=False)]
        for rows, own in zip((now, then), marks, strict=True)
    )
    return NeighborExample(texts[row], old, new)
