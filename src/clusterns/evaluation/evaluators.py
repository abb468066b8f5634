"""The evaluations as Sentence Transformers evaluators, for anyone's trainer."""

from __future__ import annotations

from typing import Any

from sentence_transformers.base.evaluation import BaseEvaluator

from clusterns.evaluation.embed import Embedder
from clusterns.evaluation.sets import ScoredPairs
from clusterns.evaluation.sts import cosines_of, spearman


class ScoredPairsEvaluator(BaseEvaluator):
    """Spearman's correlation of cosines with gold scores, as ``<name>_spearman`` in [-1, 1].

    Encodes only these pairs, each distinct sentence once, in one ``encode`` call.
    """

    def __init__(self, pairs: ScoredPairs, name: str = "", batch_size: int = 128) -> None:
        super().__init__()
        self.pairs = pairs
        self.name = name or pairs.name
        self.batch_size = batch_size
        self.primary_metric = f"{self.name}_spearman"

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Evaluate a model; returns the one metric."""
        embed = Embedder(model, self.batch_size)
        metrics = {self.primary_metric: spearman(cosines_of(embed, self.pairs), self.pairs.scores)}
        self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        return metrics
