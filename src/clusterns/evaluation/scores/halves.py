"""A score without labels: find one half of a held-out sentence from its other half."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator
from torch import Tensor

from clusterns.errors import UserError
from clusterns.losses.functional import cosine_matrix
from clusterns.views.view import words_of

MIN_WORDS = 6


class HalvesEvaluator(BaseEvaluator):
    """Mean reciprocal rank of a sentence's second half among all second halves, and back.

    It measures whether the embedding keeps what a sentence is about when its words differ. A random
    embedding of n sentences scores about ln(n)/n, a perfect one 1.

    Args:
        sentences: held-out sentences; those under six words are left out.
        name: prefix of the metric.
        batch_size: of the encoding.
    """

    def __init__(
        self, sentences: Sequence[str], name: str = "heldout", batch_size: int = 64
    ) -> None:
        super().__init__()
        self.firsts, self.seconds, _ = halved(sentences, MIN_WORDS)
        if len(self.firsts) < 2:
            raise UserError(
                f"the label-free score needs held-out sentences of {MIN_WORDS} words or more, and "
                f"found {len(self.firsts)}: add text, or name a file of scored pairs with --dev."
            )
        self.name = name
        self.primary_metric = f"{name}_halves_mrr"
        self.batch_size = batch_size

    def __call__(
        self,
        model: SentenceTransformer,
        output_path: str | None = None,
        epoch: int = -1,
        steps: int = -1,
    ) -> dict[str, float]:
        """Score a model."""
        vectors = model.encode(
            [*self.firsts, *self.seconds],
            batch_size=self.batch_size,
            convert_to_tensor=True,
            show_progress_bar=False,
        )
        similarities = cosine_matrix(*vectors.float().chunk(2))
        both = [mean_reciprocal_rank(similarities), mean_reciprocal_rank(similarities.T)]
        metrics = {self.primary_metric: sum(both) / 2}
        self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        return metrics

    def get_config_dict(self) -> dict[str, Any]:
        """Settings for the model card."""
        return {"sentences": len(self.firsts)}


def halved(texts: Sequence[str], fewest: int) -> tuple[list[str], list[str], list[int]]:
    """First and second halves of all texts of ``fewest`` words or more, and the rows of these texts."""
    firsts, seconds, rows = [], [], []
    for row, text in enumerate(texts):
        words = words_of(text)
        if len(words) >= fewest:
            firsts.append("".join(words[: len(words) // 2]).strip())
            seconds.append("".join(words[len(words) // 2 :]))
            rows.append(row)
    return firsts, seconds, rows


@torch.no_grad()
def mean_reciprocal_rank(similarities: Tensor) -> float:
    """MRR of the diagonal of an (n, n) matrix; ties count as half a rank, so a constant embedding
    gains nothing by them."""
    own = similarities.diagonal()[:, None]
    above = (similarities > own).sum(1)
    level = (similarities == own).sum(1) - 1
    return float((1 / (1 + above + level / 2)).mean())
