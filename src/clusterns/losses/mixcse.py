"""Mixed negatives (MixCSE): a sentence's own positive, mixed into another sentence's."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from clusterns.losses.part import Batch, Part, Rows, Terms, TermsOf
from clusterns.methods.mixcse import MixingSettings


class MixedNegatives(Part):
    """Extra negatives m_k = share z2_k + (1 - share) z2_(k+1), mixed as raw vectors, without
    gradient.

    Every anchor has all of them as negatives, except the one that is mostly its own positive
    (k = i - 1); the one with a ``share`` of it (k = i) is the mixed hard negative of the paper.

    With ``mixed_both_sides``, the second block of the released code is added: anchors mixed in the
    same way, each against all positives except the one that it mostly belongs to.
    """

    settings: MixingSettings

    citation = "zhang2022mixcse"

    def terms(self, batch: Batch, training: bool) -> TermsOf:
        """Mix the rows of all processes, each with the next one."""
        n, both_sides = len(batch.all_positives), self.settings.mixed_both_sides
        mixed_positives = self._mix(batch.all_positives)
        mixed_anchors = self._mix(batch.all_anchors) if both_sides else None
        self.n_negatives = 2 * n if both_sides else n

        def terms_of(rows: Rows) -> Terms:
            negatives = [rows.anchors @ mixed_positives.T]
            weights = [_all_but(negatives[0], (rows.index - 1) % n)]
            if mixed_anchors is not None:
                negatives.append(mixed_anchors[rows.index] @ rows.all_positives.T)
                weights.append(_all_but(negatives[1], (rows.index + 1) % n))
            return Terms(negatives=torch.cat(negatives, 1), negative_weights=torch.cat(weights, 1))

        return terms_of

    def _mix(self, vectors: Tensor) -> Tensor:
        vectors = vectors.detach()
        return F.normalize(vectors.roll(-1, 0).lerp(vectors, self.settings.mixed_share), dim=-1)


def _all_but(cells: Tensor, column: Tensor) -> Tensor:
    """Weights (n, N): 1, except for a 0 in one column of each row."""
    return torch.ones_like(cells).scatter(1, column[:, None], 0.0)
