"""Whitening (BERT-whitening): embeddings with mean 0 and covariance 1, by one linear layer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Module, Normalize
from sentence_transformers.util import batch_to_device
from torch import Tensor

from clusterns.encoder.load import default_prompt, with_modules
from clusterns.encoder.speed import by_length, in_batches
from clusterns.errors import UserError

# Directions with a smaller share of the largest variance come from rounding. The last layer norm of
# an encoder takes one direction from the mean of its states.
NO_VARIANCE = 1e-9


def whiten(
    model: SentenceTransformer,
    sentences: Sequence[str],
    dimensions: int | None = None,
    *,
    floor: float = 0.0,
    max_length: int = 64,
    batch_size: int = 64,
    quiet: bool = False,
) -> SentenceTransformer:
    """``model`` followed by a whitening (Su et al., 2021) that is fitted on ``sentences``.

    Args:
        model: the model to whiten.
        sentences: the corpus.
        dimensions: number of directions to keep. None: all.
        floor: smallest variance, as a share of the largest.
        max_length: number of tokens to read of each sentence during the fit.
        batch_size: batch size.
        quiet: no progress bar.
    """
    width = model.get_embedding_dimension()
    assert width is not None
    wanted = dimensions or width
    if wanted > width:
        raise UserError(
            f"dimensions = {wanted} is more than the {width} dimensions of the base's embeddings."
        )
    if len(sentences) <= wanted:
        raise UserError(
            f"whitening to {wanted} dimensions needs more than {wanted} sentences, but there are "
            f"{len(sentences)}. Add text, or lower dimensions."
        )
    moments = Moments(width)
    model.eval()
    for batch in in_batches(by_length(sentences), batch_size, "Whitening", not quiet):
        moments.add(embed_batch(model, [sentences[row] for row in batch], max_length))
    return with_modules(model, [*model, *whitening(moments, wanted, floor)], truncate_dim=None)


@torch.no_grad()
def embed_batch(model: SentenceTransformer, sentences: list[str], max_length: int) -> Tensor:
    """(n, d) embeddings in the model's current mode: with dropout if it is training."""
    length = min(max_length, model.max_seq_length or max_length)
    prompt = default_prompt(model) or None
    features = model.preprocess(
        sentences, prompt=prompt, processing_kwargs={"text": {"max_length": length}}
    )
    vectors: Tensor = model(batch_to_device(features, model.device))["sentence_embedding"]
    return vectors


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
        """Add (n, d) vectors."""
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
    """The modules that compute (x - mean) U diag(1 / sqrt(s)) and normalize it.

    Args:
        moments: mean and covariance of the corpus.
        dimensions: number of directions to keep, those with the largest variance first. None: all
            that have any variance.
        floor: variances below this share of the largest are raised to it, so that noise is not
            amplified.
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
