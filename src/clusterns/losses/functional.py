"""The formulas as pure functions of tensors, without a model or state."""

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
    (n, n) matrix is never formed. ``diagonal`` includes the positive pairs.
    """
    a, p = F.normalize(anchors, dim=-1), F.normalize(positives, dim=-1)
    total = a.sum(0) @ p.sum(0)
    n = len(a)
    if diagonal:
        return total / (n * n)
    return (total - (a * p).sum()) / (n * n - n)


def info_nce(
    similarities: Tensor,
    index: Tensor,
    temperature: float,
    *,
    in_batch_weights: Tensor | None = None,
    mask: Tensor | None = None,
    extra_positives: Tensor | None = None,
    negatives: Tensor | None = None,
    negative_weights: Tensor | None = None,
) -> Tensor:
    """InfoNCE of each row (Eq. 1), with weighted extra negatives in the denominator (Eq. 2).

    Args:
        similarities: (n, m) cosines of the anchors with all positives of the batch.
        index: (n,) column of each anchor's own positive.
        temperature: tau.
        in_batch_weights: (n, m) weight of each cell in the denominator. None: 1.
        mask: (n, m) cells excluded from the denominator.
        extra_positives: (n, m) cells that share the numerator with the own positive: the loss is
            then the mean of their negative log-probabilities.
        negatives: (n, k) cosines of the anchors with extra negatives.
        negative_weights: (k,) or (n, k) weight of each extra negative; a negative of several
            samples appears once, with the sum of their weights.

    Returns:
        (n,) losses.
    """
    logits = similarities / temperature
    own = logits.gather(1, index[:, None])
    if extra_positives is None:
        numerator = own.squeeze(1)
    else:
        cells = extra_positives.scatter(1, index[:, None], True)
        numerator = (logits * cells).sum(1) / cells.sum(1)
    denominator = logits if in_batch_weights is None else logits + in_batch_weights.log()
    if mask is not None:
        denominator = denominator.masked_fill(mask, -torch.inf)
    if negatives is not None:
        weighted = negatives / temperature
        if negative_weights is not None:
            weighted = weighted + negative_weights.log()
        denominator = torch.cat([denominator, weighted], dim=1)
    return denominator.logsumexp(1) - numerator


def bidirectional_margin(delta: Tensor, alpha: float, beta: float) -> Tensor:
    """The bidirectional margin loss of each cell (Eq. 5): zero while delta is in [-beta, -alpha]."""
    return F.relu(delta + alpha) + F.relu(-delta - beta)


def cluster_sums(vectors: Tensor, labels: Tensor, clusters: int) -> tuple[Tensor, Tensor]:
    """Sum and number of the members of each cluster.

    Args:
        vectors: (n, d).
        labels: (n,) cluster of each vector.
        clusters: K.

    Returns:
        (K, d) sums and (K, 1) counts.
    """
    # A product with the one-hot labels is deterministic on every device; a scatter is not.
    members = F.one_hot(labels, clusters).to(vectors)
    return members.T @ vectors, members.sum(0)[:, None]


def farthest_chain(similarities: Tensor, count: int, first: int) -> Tensor:
    """Choose ``count`` rows of a batch, each the least similar one to its predecessor (Sec. 3.3).

    Args:
        similarities: (n, n) similarities within the batch.
        count: number of rows to choose, at most n.
        first: index of the first row.

    Returns:
        (count,) distinct row indices.
    """
    if count > len(similarities):
        raise ValueError(
            f"cannot choose {count} centroids from a batch of {len(similarities)} rows"
        )
    # A tensor of one row index: converting it to a number would wait for the GPU.
    last = torch.tensor([first], device=similarities.device)
    used = torch.zeros(len(similarities), dtype=torch.bool, device=similarities.device)
    chosen = []
    for _ in range(count):
        chosen.append(last)
        used[last] = True
        last = similarities[last].masked_fill(used, torch.inf).argmin(1)
    return torch.cat(chosen)


def global_centroids(vectors: Tensor, clusters: int, seed: int) -> Tensor:
    """First centroids from the whole corpus: K-means on unit vectors, then the mean of the raw members.

    Args:
        vectors: (m, d) training vectors of the corpus, or of a sample of it.
        clusters: K.
        seed: seed of the K-means.
    """
    from sklearn.cluster import KMeans

    unit = F.normalize(vectors.float(), dim=-1).cpu().numpy()
    labels = KMeans(clusters, n_init=1, random_state=seed).fit_predict(unit)
    sums, counts = cluster_sums(vectors, torch.as_tensor(labels).long(), clusters)
    return sums / counts.clamp(min=1)


def cluster_figures(
    anchors: Tensor, centroids: Tensor, nearest: Tensor, hard: Tensor
) -> dict[str, Tensor]:
    """The paper's diagnostics: similarities to and between centroids, false-negative rate.

    Args:
        anchors: (N, d).
        centroids: (K, d).
        nearest: (N,) the centroid of each anchor's cluster.
        hard: (N,) the centroid that is each anchor's hard negative.
    """
    similarities, k = cosine_matrix(anchors, centroids), len(centroids)
    unit = F.normalize(anchors, dim=-1)
    sums, counts = cluster_sums(unit, nearest, k)
    sizes = counts.squeeze(1)
    pairs = (sizes * (sizes - 1)).sum()
    # All cells of a cluster's cosine matrix sum to the square of its summed unit vectors.
    within = sums.square().sum() - unit.square().sum()
    between = cosine_matrix(centroids, centroids)
    return {
        "hard_negative_similarity": similarities.gather(1, hard[:, None]).mean(),
        "nearest_centroid_similarity": similarities.gather(1, nearest[:, None]).mean(),
        "between_centroids_similarity": (between.sum() - between.trace()) / (k * k - k),
        **({"same_cluster_similarity": within / pairs} if pairs else {}),
        "false_negative_rate": (sizes[nearest] > 1).float().mean(),
        "clusters_with_members": (sizes > 0).sum(),
    }
