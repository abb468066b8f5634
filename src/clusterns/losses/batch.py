"""Both views of a batch, and comparisons of its rows that never hold a large matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from clusterns.losses.distributed import gather, rank

# Of an (n, N) matrix that is held at once: that of a batch of 512, 1 MiB in fp32. A comparison
# holds about ten.
MOST_CELLS = 2**18


@dataclass(frozen=True)
class Rows:
    """Some anchors, and all rows that they are compared with, as unit vectors."""

    anchors: Tensor
    """(n, d)."""
    all_anchors: Tensor
    """(N, d)."""
    all_positives: Tensor
    """(N, d)."""
    targets: Tensor
    """(n,) the row of each anchor among the N."""

    def similarities(self) -> Tensor:
        """(n, N) cosines of the anchors with all positives."""
        return self.anchors @ self.all_positives.T

    def anchor_similarities(self) -> Tensor:
        """(n, N) cosines of the anchors with all anchors."""
        return self.anchors @ self.all_anchors.T


@dataclass(frozen=True)
class Batch:
    """Both views of a batch: this process's rows, and the rows of all processes."""

    anchors: Tensor
    """(n, d) of this process."""
    all_anchors: Tensor
    """(N, d) of all processes."""
    all_positives: Tensor
    """(N, d) of all processes."""
    targets: Tensor
    """(n,) the row of each anchor among the N."""

    @classmethod
    def of(cls, anchors: Tensor, positives: Tensor) -> Batch:
        """Gather the (n, d) rows of every process."""
        first = rank() * len(anchors)
        return cls(
            anchors=anchors,
            all_anchors=gather(anchors),
            all_positives=gather(positives),
            targets=torch.arange(first, first + len(anchors), device=anchors.device),
        )

    def by_rows(self, compare: Callable[[Rows], tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
        """The (n,) results of ``compare``, which looks at each anchor on its own.

        A large batch is compared a slice of its anchors at a time, in the backward pass once more,
        so that memory grows with N and not with its square.
        """
        vectors = self.anchors, self.all_anchors, self.all_positives
        anchors, all_anchors, all_positives = (F.normalize(each, dim=-1) for each in vectors)
        rows = Rows(anchors, all_anchors, all_positives, self.targets)
        size = max(1, MOST_CELLS // len(self.all_positives))
        if len(self.anchors) <= size:
            return compare(rows)
        slices = zip(rows.anchors.split(size), rows.targets.split(size), strict=True)
        found = [
            checkpoint(compare, replace(rows, anchors=some, targets=own), use_reentrant=False)
            for some, own in slices
        ]
        return tuple(torch.cat(column) for column in zip(*found, strict=True))
