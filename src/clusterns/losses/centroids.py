"""The only state of the clustering: K centroids that follow the batches (Sec. 3.3)."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clusterns.losses.functional import cosine_matrix


class Neighbours(NamedTuple):
    """Where each sample lies among the centroids."""

    similarities: Tensor
    """(n, K) cosines of the samples with the centroids."""
    nearest: Tensor
    """(n,) index of the nearest centroid: the cluster of the sample."""
    second: Tensor
    """(n,) index of the second nearest centroid: its hard negative."""


class Centroids(nn.Module):
    """K momentum-updated centroids: ``start``, then per batch ``update`` and ``nearest``.

    Args:
        clusters: number of centroids (K).
        dimension: width of the embeddings.
        momentum: share of the new cluster mean in an update (gamma, Eq. 8).
        add_sum: add the sum of a cluster's members instead of their mean (the released code).
    """

    vectors: Tensor

    def __init__(
        self, clusters: int, dimension: int, momentum: float = 1e-3, add_sum: bool = False
    ) -> None:
        super().__init__()
        if clusters < 2:
            raise ValueError(
                f"clusters must be at least 2 to have a second nearest, got {clusters}"
            )
        self.momentum = momentum
        self.add_sum = add_sum
        self.step = 0
        self.started_at: int | None = None
        self.register_buffer("vectors", torch.zeros(clusters, dimension, dtype=torch.float32))

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def started(self) -> bool:
        """Whether the centroids exist."""
        return self.started_at is not None

    @torch.no_grad()
    def start(self, vectors: Tensor) -> None:
        """Set the (K, d) first centroids."""
        self.vectors.copy_(vectors)
        self.started_at = self.step

    @torch.no_grad()
    def assign(self, samples: Tensor) -> Tensor:
        """Index of the nearest centroid of each of the (n, d) samples."""
        return cosine_matrix(samples.to(self.vectors.dtype), self.vectors).argmax(1)

    @torch.no_grad()
    def update(self, samples: Tensor) -> None:
        """Move each centroid towards the mean of its (raw) members; one without members stays."""
        samples = samples.to(self.vectors.dtype)
        # A product with the one-hot assignment is deterministic on every device; a scatter is not.
        members = F.one_hot(self.assign(samples), len(self)).to(samples.dtype)
        counts = members.sum(0)[:, None]
        target = members.T @ samples
        if not self.add_sum:
            target = target / counts.clamp(min=1)
        self.vectors.copy_(
            torch.where(counts > 0, self.vectors.lerp(target, self.momentum), self.vectors)
        )

    def nearest(self, samples: Tensor) -> Neighbours:
        """Nearest and second nearest centroid; gradient flows to the samples only."""
        similarities = cosine_matrix(samples.to(self.vectors.dtype), self.vectors)
        top = similarities.detach().topk(2, dim=1).indices
        return Neighbours(similarities, top[:, 0], top[:, 1])

    def get_extra_state(self) -> Tensor:
        """The counters: on the host, so that reading them never waits for the device."""
        return torch.tensor([self.step, -1 if self.started_at is None else self.started_at])

    def set_extra_state(self, state: Tensor) -> None:
        """Restore the counters."""
        step, started_at = state.tolist()
        self.step, self.started_at = step, (None if started_at < 0 else started_at)


def farthest_from_last(similarities: Tensor, count: int, first: int) -> Tensor:
    """Choose ``count`` rows of a batch, each the least similar to the last one chosen (Sec. 3.3).

    Args:
        similarities: (n, n) similarities within the batch.
        count: how many rows to choose, at most n.
        first: the row to begin with.

    Returns:
        (count,) distinct row indices.
    """
    if count > len(similarities):
        raise ValueError(
            f"cannot choose {count} centroids from a batch of {len(similarities)} rows"
        )
    # As a tensor of one row number: a single number would be waited for, on a GPU, each time.
    last = torch.tensor([first], device=similarities.device)
    used = torch.zeros(len(similarities), dtype=torch.bool, device=similarities.device)
    chosen = []
    for _ in range(count):
        chosen.append(last)
        used[last] = True
        last = similarities[last].masked_fill(used, torch.inf).argmin(1)
    return torch.cat(chosen)


def global_centroids(vectors: Tensor, clusters: int, seed: int) -> Tensor:
    """First centroids from the whole corpus: Euclidean K-means on unit vectors, each the raw mean of its members.

    Args:
        vectors: (m, d) training vectors of the corpus, or of a sample of it.
        clusters: K.
        seed: of the K-means.
    """
    from sklearn.cluster import KMeans

    unit = F.normalize(vectors.float(), dim=-1).cpu().numpy()
    labels = KMeans(clusters, n_init=1, random_state=seed).fit_predict(unit)
    members = F.one_hot(torch.as_tensor(labels).long(), clusters).to(vectors)
    return (members.T @ vectors) / members.sum(0)[:, None].clamp(min=1)
