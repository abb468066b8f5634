"""Validation during training: one score decides, the others are logged beside it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator

from clusterns.errors import UserError
from clusterns.evaluation.data.sets import ScoredPairs
from clusterns.evaluation.evaluators import ScoredPairsEvaluator
from clusterns.evaluation.scores.halves import HalvesEvaluator


class FirstDecides(BaseEvaluator):
    """Several evaluators; the primary metric is the first one's."""

    def __init__(self, evaluators: Sequence[BaseEvaluator]) -> None:
        super().__init__()
        self.evaluators = list(evaluators)
        self.primary_metric = self.evaluators[0].primary_metric

    def __call__(
        self,
        model: SentenceTransformer,
        output_path: str | None = None,
        epoch: int = -1,
        steps: int = -1,
    ) -> dict[str, float]:
        """Run all of them."""
        metrics: dict[str, float] = {}
        for evaluator in self.evaluators:
            metrics.update(evaluator(model, output_path, epoch, steps))
        return metrics


def validation(pairs: ScoredPairs | None, heldout: Sequence[str]) -> BaseEvaluator:
    """Spearman on scored pairs where there are any, with the label-free score beside it; the
    label-free score alone otherwise."""
    if pairs is None:
        return HalvesEvaluator(heldout)
    evaluators: list[BaseEvaluator] = [ScoredPairsEvaluator(pairs)]
    with suppress(UserError):  # too little text for a figure that is only logged
        evaluators.append(HalvesEvaluator(heldout))
    return FirstDecides(evaluators)
