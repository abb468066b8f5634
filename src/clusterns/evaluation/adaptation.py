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
from clusterns.methods.adapting import KEPT, KEPT_GENERAL, MOVED
from clusterns.vectors.nearest import Vectors, unit

# Similarities of so many texts, all with all, tell how much of them is kept.
MOST = 300
# A held-out sentence searches among so many.
MOST_SEARCHED = 3000
FEWEST_DOCUMENTS = 20


class AdaptationEvaluator(BaseEvaluator):
    """Scores a model against the one that it began with.

    ``kept`` and ``kept_general``: Spearman correlation of the similarities of all pairs of held-out and of
    general texts with those of the start. What decides: ``search_mrr``, how early a held-out sentence finds
    another one of its document among all (mean reciprocal rank); for topics there is no score that can be relied on
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
        self._documents = None if documents is None else documents[:MOST_SEARCHED]
        if self._documents is None:
            self._heldout = self._heldout[:MOST]
        else:
            self._heldout = self._heldout[:MOST_SEARCHED]
            several = int((np.unique(self._documents, return_counts=True)[1] > 1).sum())
            if several < FEWEST_DOCUMENTS:
                raise UserError(
                    f"{several} of the documents kept out have two sentences, fewer than the "
                    f"{FEWEST_DOCUMENTS} that search can be measured by: give more documents, or raise heldout"
                    " (a tenth of the text at most)."
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
        # From all of the text, which is in the order of its files.
        rows = np.linspace(0, len(own) - 1, min(MOST, len(own))).astype(int)
        kept = _agreement(own[rows], before_own[rows])
        return {
            str(self.primary_metric): 1 - kept
            if self._documents is None
            else search_mrr(own, self._documents),
            KEPT: kept,
            KEPT_GENERAL: _agreement(general, before_general),
        }

    @cached_property
    def _before(self) -> tuple[Vectors, Vectors]:
        return self._parted(self.embed(self._start()))

    def _parted(self, vectors: Vectors) -> tuple[Vectors, Vectors]:
        vectors = unit(vectors)
        return vectors[: len(self._heldout)], vectors[len(self._heldout) :]


def search_mrr(vectors: Vectors, documents: NDArray[np.int64]) -> float:
    """Mean reciprocal rank of the first sentence of its own document, over all that have another one."""
    similarities = vectors @ vectors.T
    np.fill_diagonal(similarities, -np.inf)
    same = documents[:, None] == documents
    best = np.where(same, similarities, -np.inf).max(1)
    # One that is as near comes first: vectors that are all alike find nothing.
    before = (~same & (similarities >= best[:, None])).sum(1)
    return float((1 / (1 + before))[best > -np.inf].mean())


def _agreement(vectors: Vectors, before: Vectors) -> float:
    """Spearman correlation of the similarities of all pairs with those of the start."""
    cells = np.triu_indices(len(vectors), 1)
    now, then = (vectors @ vectors.T)[cells], (before @ before.T)[cells]
    if np.array_equal(now, then):
        return 1.0
    return float(spearmanr(now, then).statistic)
