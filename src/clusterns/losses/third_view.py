"""What a third view of each sentence adds: a negative (ConPVP), or a soft one (SNCSE)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from clusterns.losses.batch import Batch, Rows
from clusterns.losses.functional import bidirectional_margin
from clusterns.losses.part import Part, Penalty, Terms, TermsOf

THIRD = 2


class ThirdViewNegatives(Part):
    """The third view of every sentence is a negative of every anchor, with gradient (ConPVP)."""

    citation = """
@inproceedings{zeng2022conpvp,
    title = "Contrastive Learning with Prompt-derived Virtual Semantic Prototypes for Unsupervised
        Sentence Embedding",
    author = "Zeng, Jiali and Yin, Yongjing and Jiang, Yufan and Wu, Shuangzhi and Cao, Yunbo",
    booktitle = "Findings of EMNLP",
    year = "2022"
}
"""

    def follow(self, batch: Batch, learn: bool) -> TermsOf:
        """N more columns."""
        self.columns = len(batch.all_anchors)

        def terms(rows: Rows) -> Terms:
            return Terms(negatives=rows.anchors @ rows.all_views[THIRD].T)

        return terms


class SoftNegatives(Part):
    """The third view of a sentence, its negation, is held below its positive by the bidirectional
    margin loss (SNCSE).

    Args:
        weight: of the margin loss (lambda).
        alpha: the soft negative's similarity stays at least this far below the positive's.
        beta: and at most this far below it.
    """

    citation = """
@inproceedings{wang2023sncse,
    title = "{SNCSE}: Contrastive Learning for Unsupervised Sentence Embedding with Soft Negative
        Samples",
    author = "Wang, Hao and Dou, Yong",
    booktitle = "Proceedings of ICIC",
    year = "2023"
}
"""

    def __init__(self, weight: float = 1e-3, alpha: float = 0.1, beta: float = 0.3) -> None:
        super().__init__()
        if alpha > beta:
            raise ValueError(f"alpha ({alpha}) must not be above beta ({beta})")
        self.weight = weight
        self.alpha = alpha
        self.beta = beta

    def follow(self, batch: Batch, learn: bool) -> TermsOf:
        """One penalty a row."""

        def terms(rows: Rows) -> Terms:
            to_negation = (rows.anchors * rows.all_views[THIRD][rows.targets]).sum(1)
            delta = to_negation - rows.own_similarities.squeeze(1)
            margins = bidirectional_margin(delta, self.alpha, self.beta)
            count = torch.ones_like(margins)
            return Terms(penalties=[Penalty("soft_negative_loss", margins, count, self.weight)])

        return terms

    def config(self) -> Mapping[str, Any]:
        """Settings for the model card."""
        return {
            "soft_negative_weight": self.weight,
            "soft_negative_alpha": self.alpha,
            "soft_negative_beta": self.beta,
        }
