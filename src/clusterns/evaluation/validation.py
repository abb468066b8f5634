"""Validation during training: one score decides, the others are logged beside it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator

from clusterns.data.documents import documents_of
from clusterns.encoder.base import load_base
from clusterns.errors import UserError
from clusterns.evaluation.adaptation import AdaptationEvaluator
from clusterns.evaluation.data.sets import ScoredPairs
from clusterns.evaluation.evaluators import ScoredPairsEvaluator
from clusterns.evaluation.scores.halves import HalvesEvaluator
from clusterns.methods.adapting import Adapting, AdaptingSettings
from clusterns.methods.general import text_apart
from clusterns.methods.recipe import Recipe
from clusterns.methods.registry import get_method


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


def validation(recipe: Recipe, pairs: ScoredPairs | None, heldout: Dataset) -> BaseEvaluator:
    """Spearman on scored pairs where there are any, with the label-free score beside it; the
    label-free score alone otherwise. An adaptation has a judge of its own."""
    texts = heldout["text"][:]
    if isinstance(recipe, AdaptingSettings):
        return _of_adaptation(recipe, texts, heldout)
    if pairs is None:
        return HalvesEvaluator(texts)
    evaluators: list[BaseEvaluator] = [ScoredPairsEvaluator(pairs)]
    with suppress(UserError):  # too little text for a figure that is only logged
        evaluators.append(HalvesEvaluator(texts))
    return FirstDecides(evaluators)


def _of_adaptation(
    recipe: AdaptingSettings, texts: Sequence[str], heldout: Dataset
) -> AdaptationEvaluator:
    method = get_method(recipe.method)
    documents = None
    if isinstance(method, Adapting) and method.purpose == "search":
        documents = documents_of(heldout)
    return AdaptationEvaluator(
        lambda: load_base(recipe.base, recipe.pooling),
        texts,
        text_apart(recipe.general, recipe.base),
        documents,
    )
