"""Whitening (BERT-whitening): embeddings with mean 0 and covariance 1, by one linear layer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Module, Normalize
from sentence_transformers.util import batch_to_device
from torch import Tensor

from clusterns.encoder.load import default_prompt, with_modules
from clusterns.encoder.speed import by_length, in_batches
from clusterns.errors import UserError

# Directions with a smaller fraction of the largest variance are rounding noise. The last layer norm of
# an encoder removes one direction from the mean of its states.
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
    """Append a whitening (Su et al., 2021), fitted on ``sentences``, to ``model``.

    Args:
        model: the model to whiten.
        sentences: the corpus.
        dimensions: number of directions to keep. None: all.
        floor: minimum variance, as a fraction of the largest.
        max_length: maximum number of tokens per sentence during the fit.
        batch_size: batch size.
        quiet: hide the progress bar.
    """
    width = model.get_embedding_dimension()
    assert width is not None
    kept = dimensions or width
    if kept > width:
        raise UserError(
            f"dimensions = {kept} exceeds the {width} dimensions of the base's embeddings."
        )
    if len(sentences) <= kept:
        raise UserError(
            f"whitening to {kept} dimensions needs more than {kept} sentences, but there are "
            f"{len(sentences)}. Add text, or lower dimensions."
        )
    model.eval()
    batches = in_batches(by_length(sentences), batch_size, "Whitening", not quiet)
    blocks = (
        embed_batch(model, [sentences[row] for row in batch], max_length) for batch in batches
    )
    layers = whitening(*mean_and_covariance(blocks), kept, floor)
    return with_modules(model, [*model, *layers], truncate_dim=None)


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


def mean_and_covariance(blocks: Iterable[Tensor]) -> tuple[Tensor, Tensor]:
    """Mean (d,) and covariance (d, d) of blocks of vectors (n, d), in double precision."""
    count = 0
    origin = total = products = torch.tensor(0.0, dtype=torch.float64)
    for block in blocks:
        vectors = block.to("cpu", torch.float64)
        if not count:
            # Products of uncentered numbers would lose digits.
            origin = vectors.mean(dim=0)
        vectors = vectors - origin
        count += len(vectors)
        total = total + vectors.sum(dim=0)
        products = products + vectors.T @ vectors
    mean = total / count
    return origin + mean, (products - count * mean.outer(mean)) / (count - 1)


def whitening(
    mean: Tensor, covariance: Tensor, dimensions: int | None = None, floor: float = 0.0
) -> list[Module]:
    """The modules that compute (x - mean) U diag(1 / sqrt(s)) and normalize it.

    Args:
        mean: (d,) of the corpus.
        covariance: (d, d) of the corpus.
        dimensions: number of directions to keep, in order of decreasing variance. None: all
            that have any variance.
        floor: variances below this fraction of the largest are raised to it, so that noise is not
            amplified.
    """
    variances, directions = torch.linalg.eigh(covariance)
    variances, directions = variances.flip(0), directions.flip(1)
    varying = int((variances > variances[0] * NO_VARIANCE).sum())
    kept = min(dimensions or len(mean), varying)
    variances = variances.clamp(min=floor * float(variances[0]))
    weight = (directions[:, :kept] / variances[:kept].sqrt()).T
    bias = -weight @ mean
    # The library's own default activation is tanh.
    dense = Dense(
        len(mean),
        kept,
        activation_function=None,
        init_weight=weight.float().contiguous(),
        init_bias=bias.float(),
    )
    return [dense, Normalize()]
