"""A vector for each row that its sentence is to come to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from clusterns.losses.batch import Batch, Rows
from clusterns.losses.part import Part, Penalty, Terms, TermsOf


class Targets(Part):
    """Regression: one minus the cosine of a sentence with the target of its row, in the mean.

    Args:
        file: a .npy file of (rows, d) targets, read where it lies; None: a dry run, in which every
            sentence is its own target.
        weight: of the term.
    """

    def __init__(self, file: Path | None, weight: float = 10.0) -> None:
        super().__init__()
        self.weight = weight
        self._targets = None if file is None else np.load(file, mmap_mode="r", allow_pickle=False)

    def follow(self, batch: Batch, learn: bool) -> TermsOf:
        """One term a row."""
        if batch.all_labels is None:
            raise ValueError("targets need the numbers of the rows as labels")
        numbers = batch.all_labels

        def terms(rows: Rows) -> Terms:
            targets = self._of(numbers[rows.targets], rows.anchors)
            away = 1 - (rows.anchors * targets).sum(1)
            penalty = Penalty("target_loss", away, torch.ones_like(away), self.weight)
            return Terms(penalties=[penalty])

        return terms

    def _of(self, numbers: Tensor, anchors: Tensor) -> Tensor:
        if self._targets is None:
            return anchors.detach()
        found = torch.from_numpy(self._targets[numbers.cpu().numpy()])
        return F.normalize(found.to(anchors), dim=1)

    def config(self) -> Mapping[str, Any]:
        """Settings for the model card."""
        return {"target_weight": self.weight}
