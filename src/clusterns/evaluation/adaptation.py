"""The judge of an adaptation: what it is good for, and what is kept of the model that it began with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator

from clusterns.errors import UserError
from clusterns.evaluation.validators import halved
from clusterns.methods.adapting import KEPT, KEPT_GENERAL
from clusterns.vectors.nearest import Rows, Vectors, nearest, unit

# Similarities of so many texts, all with all, tell how much of them is kept.
MOST = 300
# A held-out sentence searches among so many.
MOST_SEARCHED = 3000
FEWEST_DOCUMENTS = 20
# Nearest sentences that the halves of one may have in common; a fifth of all where there are few.
NEAR = 10


class AdaptationEvaluator(BaseEvaluator):
    """Scores a model against the one that it began with.

    ``kept`` and ``kept_general``: Spearman correlation of the similarities of all pairs of held-out and of
    general texts with those of the start. What decides: for search ``search_mrr``, how early a held-out sentence
    finds another one of its document among all (mean reciprocal rank); for topics ``common_neighbours``, how many
    of their nearest sentences both halves of a held-out one have in common.

    Args:
        start: gives the model that the adaptation began with.
        heldout: sentences that training never saw.
        general: general text that training never saw.
        documents: the document of each held-out sentence; None where the purpose is topics.
        batch_size: of the encoding.
    """

    def __init__(
        self,
        start: Callable[[], SentenceTransformer],
        heldout: Sequence[str],
        general: Sequence[str],
        documents: NDArray[np.int64] | None = None,
        batch_size: int = 64,
    ) -> None:
        super().__init__()
        self.primary_metric = "common_neighbours" if documents is None else "search_mrr"
        self.batch_size = batch_size
        self._start = start
        self._general = list(general)[:MOST]
        self._heldout = list(heldout)
        self._documents = None if documents is None else documents[:MOST_SEARCHED]
        firsts: list[str] = []
        seconds: list[str] = []
        rows: list[int] = []
        if self._documents is None:
            few = np.linspace(0, len(self._heldout) - 1, min(MOST, len(self._heldout))).astype(int)
            self._heldout = [self._heldout[row] for row in few]
            firsts, seconds, rows = halved(self._heldout, 2)
        else:
            self._heldout = self._heldout[:MOST_SEARCHED]
            several = int((np.unique(self._documents, return_counts=True)[1] > 1).sum())
            if several < FEWEST_DOCUMENTS:
                raise UserError(
                    f"{several} of the documents kept out have two sentences, fewer than the "
                    f"{FEWEST_DOCUMENTS} that search can be measured by: give more documents, or raise heldout"
                    " (a tenth of the text at most)."
                )
        if len(self._heldout) < 2 or (documents is None and not rows):
            raise UserError(
                "too little text is held out to measure by: add text, or raise heldout."
            )
        self._halves, self._halved = [*firsts, *seconds], np.array(rows, np.int64)

    def __call__(
        self,
        model: SentenceTransformer,
        output_path: str | None = None,
        epoch: int = -1,
        steps: int = -1,
    ) -> dict[str, float]:
        """Score a model."""
        metrics = self.score(self.embed(model))
        self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        return metrics

    def embed(self, model: SentenceTransformer) -> Vectors:
        """The vectors of all texts that a model is judged by."""
        texts = [*self._heldout, *self._general, *self._halves]
        vectors = model.encode(texts, batch_size=self.batch_size, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)

    def score(self, vectors: Vectors) -> dict[str, float]:
        """Score a model by what :meth:`embed` gives of it, of any length."""
        own, general, halves = self._parted(vectors)
        before_own, before_general, _ = self._before
        # From all of the text, which is in the order of its files.
        rows = np.linspace(0, len(own) - 1, min(MOST, len(own))).astype(int)
        if self._documents is None:
            firsts, seconds = np.split(halves, 2)
            purpose = common_neighbours(own, firsts, seconds, self._halved)
        else:
            purpose = search_mrr(own, self._documents)
        return {
            str(self.primary_metric): purpose,
            KEPT: agreement(own[rows], before_own[rows]),
            KEPT_GENERAL: agreement(general, before_general),
        }

    @cached_property
    def _before(self) -> list[Vectors]:
        return self._parted(self.embed(self._start()))

    def _parted(self, vectors: Vectors) -> list[Vectors]:
        ends = np.cumsum([len(self._heldout), len(self._general)])
        return np.split(unit(vectors), ends)


def common_neighbours(vectors: Vectors, firsts: Vectors, seconds: Vectors, rows: Rows) -> float:
    """Of the nearest texts to the first half of a text, the share that is also near to its second half.

    Both halves of a text are of its topic, and have little else in common. Vectors that are all alike have the same
    neighbours, too: it says something only where what was known is kept.

    Args:
        vectors: (n, d) of the texts, of length 1.
        firsts: (m, d) of first halves, of length 1.
        seconds: (m, d) of their second halves, of length 1.
        rows: (m,) the text that they are halves of, which is no neighbour of theirs.
    """
    near = max(1, min(NEAR, len(vectors) // 5))
    (_, first), (_, second) = (nearest(each, vectors, near, rows) for each in (firsts, seconds))
    return float((first[:, :, None] == second[:, None, :]).any(2).mean())


def search_mrr(vectors: Vectors, documents: NDArray[np.int64]) -> float:
    """Mean reciprocal rank of the first sentence of its own document, over all that have another one."""
    similarities = vectors @ vectors.T
    np.fill_diagonal(similarities, -np.inf)
    same = documents[:, None] == documents
    best = np.where(same, similarities, -np.inf).max(1)
    # One that is as near comes first: vectors that are all alike find nothing.
    before = (~same & (similarities >= best[:, None])).sum(1)
    return float((1 / (1 + before))[best > -np.inf].mean())


def agreement(vectors: Vectors, before: Vectors) -> float:
    """Spearman correlation of the similarities of all pairs with those of the start."""
    cells = np.triu_indices(len(vectors), 1)
    now, then = (vectors @ vectors.T)[cells], (before @ before.T)[cells]
    if np.array_equal(now, then):
        return 1.0
    return float(spearmanr(now, then).statistic)
