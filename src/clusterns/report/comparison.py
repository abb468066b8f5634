"""A trained model beside the base that it began with, on sentences that training never saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from clusterns.errors import UserError
from clusterns.evaluation.data.sets import ScoredPairs
from clusterns.evaluation.results.bootstrap import Measure, bootstrap, generator, spearman_measure
from clusterns.evaluation.scores.geometry import alignment, normalise, uniformity
from clusterns.evaluation.scores.halves import HalvesEvaluator
from clusterns.evaluation.scores.sts import cosines_of
from clusterns.explore.neighbors import Change, find_change, marks
from clusterns.explore.topics import Topics, find_topics
from clusterns.losses.functional import cosine_matrix
from clusterns.vectors.embed import Embedder
from clusterns.vectors.nearest import nearest, unit

MOST = 1000  # sentences: enough to see, and quick on a processor
ROUNDS = 1000
SHOWN, NEIGHBOURS = 8, 4


@dataclass(frozen=True)
class Score:
    """One figure of both models, with 95 % intervals over resampled rows."""

    name: str
    rows: int
    before: float
    after: float
    before_interval: tuple[float, float] | None = None
    after_interval: tuple[float, float] | None = None
    gain_interval: tuple[float, float] | None = None
    lower_is_better: bool = False

    @property
    def better(self) -> bool | None:
        """Whether the gain is more than chance in the choice of rows; None where nobody knows."""
        if self.gain_interval is None:
            return None
        low, high = self.gain_interval
        return high < 0 if self.lower_is_better else low > 0


@dataclass(frozen=True)
class Neighbours:
    """A sentence with its nearest neighbours before and after: (text, kept, gained or lost)."""

    text: str
    before: list[tuple[str, str]]
    after: list[tuple[str, str]]


@dataclass(frozen=True)
class Examination:
    """What was found."""

    sentences: int
    scores: list[Score]
    topics: Topics
    texts: list[str]
    change: Change
    changed: list[Neighbours]
    kept_out: bool = True
    """Whether training never saw the sentences."""


def examine(
    sentences: Sequence[str],
    before: SentenceTransformer,
    after: SentenceTransformer,
    pairs: ScoredPairs | None = None,
) -> Examination:
    """Look at two models.

    Args:
        sentences: some; exact doubles are left out.
        before: the base.
        after: the trained model.
        pairs: scored pairs that chose the best step, where there are any.
    """
    texts = list(dict.fromkeys(sentences))[:MOST]
    embed = [Embedder(model, batch_size=64) for model in (before, after)]
    vectors = [unit(one(texts)) for one in embed]
    tables = [
        nearest(rows, rows, min(10, len(texts) - 1), np.arange(len(texts)))[1] for rows in vectors
    ]
    change = find_change(tables[1], tables[0], vectors[1])
    spread = uniformity(normalise(vectors[0])), uniformity(normalise(vectors[1]))
    return Examination(
        sentences=len(texts),
        scores=[
            *([] if pairs is None else [_pairs_score(embed, pairs)]),
            *_halves_scores(embed, texts),
            Score("uniformity", len(texts), *spread, lower_is_better=True),
        ],
        topics=find_topics(vectors[1], texts, progress=False),
        texts=texts,
        change=change,
        changed=[
            _neighbours(row, texts, tables[0][row].tolist(), tables[1][row].tolist())
            for row in change.order[:SHOWN]
        ],
    )


def scored(
    name: str, rows: int, measure: Measure, *, scale: float = 1.0, lower_is_better: bool = False
) -> Score:
    """A figure of both models with its intervals.

    Args:
        name: of the figure.
        rows: that it stands on.
        measure: counts (rows,) to the figure of both models (2,).
        scale: what to divide the measure by.
        lower_is_better: whether less is better.
    """
    found = bootstrap(measure, rows, ROUNDS, generator(0, name)) / scale
    gain = found[1:, 1] - found[1:, 0]
    return Score(
        name, rows, float(found[0, 0]), float(found[0, 1]),
        _interval(found[1:, 0]), _interval(found[1:, 1]), _interval(gain), lower_is_better,
    )  # fmt: skip


def _interval(values: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def _pairs_score(embed: list[Embedder], pairs: ScoredPairs) -> Score:
    answers = np.column_stack([cosines_of(one, pairs) for one in embed])
    measure = spearman_measure(answers, pairs.scores)
    return scored(f"{pairs.name}, Spearman", len(pairs.scores), measure, scale=100)


def _halves_scores(embed: list[Embedder], texts: list[str]) -> list[Score]:
    """The label-free score, and alignment of the halves of a sentence."""
    try:
        halves = HalvesEvaluator(texts)
    except UserError:  # sentences that are too short to be halved
        return []
    ranks, distances = [], []
    for one in embed:
        vectors = [one(part) for part in (halves.firsts, halves.seconds)]
        first, second = (normalise(part) for part in vectors)
        cosines = cosine_matrix(*map(torch.from_numpy, vectors)).numpy()
        ranks.append((reciprocal_ranks(cosines) + reciprocal_ranks(cosines.T)) / 2)
        distances.append(((first - second) ** 2).sum(axis=1))
        assert np.isclose(alignment(first, second), distances[-1].mean())
    return [
        scored("halves find each other, MRR", len(halves.firsts), _mean_measure(ranks)),
        scored("alignment of halves", len(halves.firsts), _mean_measure(distances),
               lower_is_better=True),
    ]  # fmt: skip


def _mean_measure(columns: list[NDArray[np.float64]]) -> Measure:
    values = np.column_stack(columns)
    return lambda counts: counts @ values / counts.sum()


def reciprocal_ranks(cosines: NDArray[np.floating]) -> NDArray[np.float64]:
    """1 / rank of the diagonal in each row of an (n, n) matrix; ties count as half a rank: (n,)."""
    own = np.diagonal(cosines)[:, None]
    above, level = (cosines > own).sum(axis=1), (cosines == own).sum(axis=1) - 1
    return 1 / (1 + above + level / 2)


def _neighbours(row: int, texts: list[str], before: list[int], after: list[int]) -> Neighbours:
    now, then = marks(after, before)
    return Neighbours(
        texts[row],
        [(texts[r], mark) for r, mark in zip(before, then, strict=True)][:NEIGHBOURS],
        [(texts[r], mark) for r, mark in zip(after, now, strict=True)][:NEIGHBOURS],
    )
