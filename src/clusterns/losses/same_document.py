"""Sentences of one document find each other, and are never each other's negatives."""

from __future__ import annotations

import torch

from clusterns.losses.batch import Batch, Rows
from clusterns.losses.functional import info_nce
from clusterns.losses.part import Part, Penalty, Terms, TermsOf


class SameDocument(Part):
    """For rows of two sentences of a document, labelled with its number: other rows of the same
    document leave the denominator, and the positive has to find its anchor as well.

    Args:
        temperature: tau of both directions.
    """

    def __init__(self, temperature: float = 0.05) -> None:
        super().__init__()
        self.temperature = temperature

    def follow(self, batch: Batch, learn: bool) -> TermsOf:
        """Cells that are left out, and the other direction's InfoNCE as one term a row."""
        if batch.all_labels is None:
            raise ValueError("document positives need the numbers of the documents as labels")
        documents = batch.all_labels

        def terms(rows: Rows) -> Terms:
            same = documents[rows.targets][:, None] == documents[None, :]
            others = same.scatter(1, rows.targets[:, None], False)
            back = rows.all_positives[rows.targets] @ rows.all_anchors.T
            losses = info_nce(back, rows.targets, self.temperature, excluded=others)
            reverse = Penalty("reverse_loss", losses, torch.ones_like(losses))
            return Terms(excluded=others, penalties=[reverse])

        return terms
