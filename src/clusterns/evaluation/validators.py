"""Evaluators in the form of Sentence Transformers, for any trainer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from datasets import Dataset
from sentence_transformers.base.evaluation import BaseEvaluator

from clusterns.errors import UserError
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.retrieval import reciprocal_ranks
from clusterns.evaluation.sts import cosines_of, spearman
from clusterns.losses.functional import cosine_matrix
from clusterns.vectors.embed import Embedder
from clusterns.views.view import words_of


class Evaluator(BaseEvaluator):
    """Scores a model with :meth:`score`, and adds the metrics to the model card."""

    def score(self, model: Any) -> dict[str, float]:
        """The metrics of a model."""
        raise NotImplementedError

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Score a model, as Sentence Transformers' trainer calls it."""
        metrics = self.score(model)
        self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        return metrics


class ScoredPairsEvaluator(Evaluator):
    """Spearman's correlation of cosines with gold scores, as ``<name>_spearman`` in [-1, 1].

    Encodes only these pairs, each distinct sentence once.
    """

    def __init__(self, pairs: ScoredPairs, name: str = "", batch_size: int = 32) -> None:
        super().__init__()
        self.pairs = pairs
        self.name = name or pairs.name.replace(" ", "-")
        self.batch_size = batch_size
        self.primary_metric = f"{self.name}_spearman"

    def score(self, model: Any) -> dict[str, float]:
        """The one metric of a model."""
        cosines = cosines_of(Embedder(model, self.batch_size), self.pairs)
        return {str(self.primary_metric): spearman(cosines, self.pairs.scores)}


class CombinedEvaluator(Evaluator):
    """Several evaluators; the primary metric is the first one's."""

    def __init__(self, evaluators: Sequence[Evaluator]) -> None:
        super().__init__()
        self.evaluators = list(evaluators)
        self.primary_metric = self.evaluators[0].primary_metric

    def score(self, model: Any) -> dict[str, float]:
        """Run all of them."""
        return {
            name: value for each in self.evaluators for name, value in each.score(model).items()
        }


def validation(pairs: ScoredPairs | None, heldout: Dataset) -> Evaluator:
    """Spearman on scored pairs and the label-free score; without pairs, the label-free score
    alone."""
    texts = heldout["text"][:]
    if pairs is None:
        return HalvesEvaluator(texts)
    evaluators: list[Evaluator] = [ScoredPairsEvaluator(pairs)]
    with suppress(UserError):  # too little text for a score that is only logged
        evaluators.append(HalvesEvaluator(texts))
    return CombinedEvaluator(evaluators)


MIN_WORDS = 6


class HalvesEvaluator(Evaluator):
    """Mean reciprocal rank of a sentence's second half among all second halves, and vice versa.

    It measures whether embeddings capture what a sentence is about when its words differ. A random
    embedding of n sentences scores about ln(n)/n, a perfect one 1.

    Args:
        sentences: held-out sentences; those with fewer than six words are skipped.
        name: prefix of the metric.
        batch_size: batch size.
    """

    def __init__(
        self, sentences: Sequence[str], name: str = "heldout", batch_size: int = 64
    ) -> None:
        super().__init__()
        self.firsts, self.seconds, _ = halved(sentences, MIN_WORDS)
        if len(self.firsts) < 2:
            raise UserError(
                f"the label-free score needs held-out sentences of {MIN_WORDS} words or more, and "
                f"found {len(self.firsts)}: add text, or pass a file of scored pairs with --dev."
            )
        self.name = name
        self.primary_metric = f"{name}_halves_mrr"
        self.batch_size = batch_size

    def score(self, model: Any) -> dict[str, float]:
        """Score a model."""
        vectors = model.encode(
            [*self.firsts, *self.seconds],
            batch_size=self.batch_size,
            convert_to_tensor=True,
            show_progress_bar=False,
        )
        similarities = cosine_matrix(*vectors.float().chunk(2)).cpu().numpy()
        both = [reciprocal_ranks(each).mean() for each in (similarities, similarities.T)]
        return {str(self.primary_metric): float(np.mean(both))}

    def get_config_dict(self) -> dict[str, Any]:
        """Settings for the model card."""
        return {"sentences": len(self.firsts)}


def halved(texts: Sequence[str], min_words: int) -> tuple[list[str], list[str], list[int]]:
    """First and second halves of all texts of ``min_words`` words or more, and the rows of these texts."""
    firsts, seconds, rows = [], [], []
    for row, text in enumerate(texts):
        words = words_of(text)
        if len(words) >= min_words:
            firsts.append("".join(words[: len(words) // 2]).strip())
            seconds.append("".join(words[len(words) // 2 :]))
            rows.append(row)
    return firsts, seconds, rows
