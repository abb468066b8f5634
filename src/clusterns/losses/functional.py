"""The maths of the paper as pure tensor functions: embeddings in, numbers out, no model, no state."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def cosine_matrix(a: Tensor, b: Tensor) -> Tensor:
    """Cosine of every row of ``a`` (n, d) with every row of ``b`` (m, d), as (n, m)."""
    return F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T


def mean_in_batch_similarity(anchors: Tensor, positives: Tensor, diagonal: bool = False) -> Tensor:
    """Mean cosine of in-batch anchor-positive pairs, the quantity compared with sigma (scalar).

    The sum over all cells of a cosine matrix is the product of the two summed unit vectors, so the
    (n, n) matrix is never formed. ``diagonal`` counts the positive pairs as well.
    """
    a, p = F.normalize(anchors, dim=-1), F.normalize(positives, dim=-1)
    total = a.sum(0) @ p.sum(0)
    n = len(a)
    if diagonal:
        return total / (n * n)
    return (total - (a * p).sum()) / (n * n - n)


def info_nce(
    similarities: Tensor,
    targets: Tensor,
    temperature: float,
    *,
    excluded: Tensor | None = None,
    extra_positives: Tensor | None = None,
    negatives: Tensor | None = None,
    negative_weights: Tensor | None = None,
) -> Tensor:
    """InfoNCE of each row (Eq. 1), with weighted extra negatives in the denominator (Eq. 2).

    Args:
        similarities: (n, m) cosines of the anchors with all positives of the batch.
        targets: (n,) column of each anchor's own positive.
        temperature: tau.
        excluded: (n, m) cells left out of the denominator.
        extra_positives: (n, m) cells that share the numerator with the own positive: the loss is
            then the mean of their negative log-probabilities.
        negatives: (n, k) cosines of the anchors with extra negatives.
        negative_weights: (k,) or (n, k) weight of each extra negative; a negative that several
            samples bring along is written once, with the sum of their weights.

    Returns:
        (n,) losses.
    """
    logits = similarities / temperature
    own = logits.gather(1, targets[:, None])
    if extra_positives is None:
        numerator = own.squeeze(1)
    else:
        cells = extra_positives.scatter(1, targets[:, None], True)
        numerator = (logits * cells).sum(1) / cells.sum(1)
    denominator = logits if excluded is None else logits.masked_fill(excluded, -torch.inf)
    if negatives is not None:
        weighted = negatives / temperature
        if negative_weights is not None:
            weighted = weighted + negative_weights.log()
        denominator = torch.cat([denominator, weighted], dim=1)
    return denominator.logsumexp(1) - numerator


def bidirectional_margin(delta: Tensor, alpha: float, beta: float) -> Tensor:
    """The bidirectional margin loss of each cell (Eq. 5): zero while delta is in [-beta, -alpha]."""
    return F.relu(delta + alpha) + F.relu(-delta - beta)
