"""Whitening (BERT-whitening): vectors with mean 0 and covariance 1, as one linear layer."""

from __future__ import annotations

import torch
from sentence_transformers.base.modules import Dense, Module, Normalize
from torch import Tensor

# A direction with less than this share of the largest variance is none: rounding made it. The last
# layer norm of an encoder takes one direction from the mean of its states.
NO_VARIANCE = 1e-9


class Moments:
    """Mean and covariance of vectors that come in blocks, in double precision.

    Args:
        dimension: the length d of a vector.
    """

    def __init__(self, dimension: int) -> None:
        self.count = 0
        self.origin = torch.zeros(dimension, dtype=torch.float64)
        self.sum = torch.zeros(dimension, dtype=torch.float64)
        self.products = torch.zeros(dimension, dimension, dtype=torch.float64)

    def add(self, vectors: Tensor) -> None:
        """Count (n, d) vectors in."""
        vectors = vectors.to("cpu", torch.float64)
        if not self.count:
            # Products of numbers far from their mean would lose digits.
            self.origin = vectors.mean(dim=0)
        vectors = vectors - self.origin
        self.count += len(vectors)
        self.sum += vectors.sum(dim=0)
        self.products += vectors.T @ vectors

    @property
    def mean(self) -> Tensor:
        """The mean (d,)."""
        return self.origin + self.sum / self.count

    @property
    def covariance(self) -> Tensor:
        """The covariance (d, d), divided by n - 1."""
        mean = self.sum / self.count
        return (self.products - self.count * mean.outer(mean)) / (self.count - 1)


def whitening(moments: Moments, dimensions: int | None = None, floor: float = 0.0) -> list[Module]:
    """The modules that whiten: (x - mean) U diag(1 / sqrt(s)), then length 1.

    Args:
        moments: those of the corpus's vectors.
        dimensions: keep so many directions, those of the largest variance; all by default, but
            those without variance.
        floor: variances below this share of the largest are raised to it, so that noise is not blown up.
    """
    width = len(moments.mean)
    variances, directions = torch.linalg.eigh(moments.covariance)
    variances, directions = variances.flip(0), directions.flip(1)
    varying = int((variances > variances[0] * NO_VARIANCE).sum())
    kept = min(dimensions or width, varying)
    variances = variances.clamp(min=floor * float(variances[0]))
    weight = (directions[:, :kept] / variances[:kept].sqrt()).T
    bias = -weight @ moments.mean
    # The library's own default activation is tanh.
    dense = Dense(
        width,
        kept,
        activation_function=None,
        init_weight=weight.float().contiguous(),
        init_bias=bias.float(),
    )
    return [dense, Normalize()]
