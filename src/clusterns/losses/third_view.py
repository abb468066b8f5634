"""Parts that use a third view of each sentence: as a negative (ConPVP), or a soft negative (SNCSE)."""

from __future__ import annotations

import torch

from clusterns.losses.functional import bidirectional_margin
from clusterns.losses.part import Batch, Part, Penalty, Rows, Terms, TermsOf
from clusterns.methods.sncse import SoftNegativeSettings

THIRD = 2


class ThirdViewNegatives(Part):
    """The third view of every sentence is a negative of every anchor, with gradient (ConPVP)."""

    citation = "zeng2022conpvp"

    def terms(self, batch: Batch, training: bool) -> TermsOf:
        """N extra negatives."""
        self.n_negatives = len(batch.all_anchors)
        return lambda rows: Terms(negatives=rows.anchors @ rows.all_views[THIRD].T)


class SoftNegatives(Part):
    """The third view of a sentence, its negation, is kept less similar than its positive by the
    bidirectional margin loss (SNCSE).
    """

    settings: SoftNegativeSettings

    citation = "wang2023sncse"

    def terms(self, batch: Batch, training: bool) -> TermsOf:
        """One penalty per row."""
        s = self.settings

        def terms_of(rows: Rows) -> Terms:
            to_negation = (rows.anchors * rows.all_views[THIRD][rows.index]).sum(1)
            delta = to_negation - rows.own_similarities.squeeze(1)
            margins = bidirectional_margin(delta, s.soft_alpha, s.soft_beta)
            count = torch.ones_like(margins)
            return Terms(penalties=[Penalty("soft_negative_loss", margins, count, s.soft_weight)])

        return terms_of
