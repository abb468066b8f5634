"""The judge of an adaptation: what it is good for, and what is kept of the model that it began with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator

from clusterns.errors import UserError
from clusterns.evaluation.scores.halves import mean_reciprocal_rank
from clusterns.methods.adapting import KEPT, KEPT_GENERAL, MOVED
from clusterns.methods.documents import partners
from clusterns.vectors.nearest import Vectors, unit

# Similarities of so many texts, all with all, tell how much of them is kept.
MOST = 300
FEWEST_PAIRS = 20


class AdaptationEvaluator(BaseEvaluator):
    """Scores a model against the one that it began with.

    ``kept`` and ``kept_general``: Spearman correlation of the similarities of all pairs of held-out and of
    general texts with those of the start. What decides: ``search_mrr``, how well a held-out sentence finds
    another one of its document (mean reciprocal rank); for topics there is no score that can be relied on
    without labels, and it is how far the model went, ``moved``.

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
        self.primary_metric = MOVED if documents is None else "search_mrr"
        self.batch_size = batch_size
        self._start = start
        self._general = list(general)[:MOST]
        self._heldout = list(heldout)
        self._pairs = None if documents is None else _one_pair_a_document(documents)
        if self._pairs is None:
            self._heldout = self._heldout[:MOST]
        elif len(self._pairs[0]) < FEWEST_PAIRS:
            raise UserError(
                f"{len(self._pairs[0])} of the documents kept out have two sentences, fewer than the "
                f"{FEWEST_PAIRS} that search can be measured by: give more documents, or raise heldout."
            )
        if len(self._heldout) < 2:
            raise UserError(
                "too little text is held out to measure by: add text, or raise heldout."
            )

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
        texts = [*self._heldout, *self._general]
        vectors = model.encode(texts, batch_size=self.batch_size, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)

    def score(self, vectors: Vectors) -> dict[str, float]:
        """Score a model by what :meth:`embed` gives of it, of any length."""
        own, general = self._parted(vectors)
        before_own, before_general = self._before
        kept = _agreement(own[:MOST], before_own[:MOST])
        return {
            str(self.primary_metric): 1 - kept if self._pairs is None else self._search(own),
            KEPT: kept,
            KEPT_GENERAL: _agreement(general, before_general),
        }

    @cached_property
    def _before(self) -> tuple[Vectors, Vectors]:
        return self._parted(self.embed(self._start()))

    def _parted(self, vectors: Vectors) -> tuple[Vectors, Vectors]:
        vectors = unit(vectors)
        return vectors[: len(self._heldout)], vectors[len(self._heldout) :]

    def _search(self, own: Vectors) -> float:
        assert self._pairs is not None
        anchors, positives = (own[rows[:MOST]] for rows in self._pairs)
        return mean_reciprocal_rank(torch.from_numpy(anchors @ positives.T))


def _one_pair_a_document(documents: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Two sentences of each document that has them: a second pair would stand in the way of the first."""
    firsts, seconds = partners(documents, seed=0)
    _, once = np.unique(documents[firsts], return_index=True)
    return firsts[once], seconds[once]


def _agreement(vectors: Vectors, before: Vectors) -> float:
    """Spearman correlation of the similarities of all pairs with those of the start."""
    cells = np.triu_indices(len(vectors), 1)
    now, then = (vectors @ vectors.T)[cells], (before @ before.T)[cells]
    if np.array_equal(now, then):
        return 1.0
    return float(spearmanr(now, then).statistic)
