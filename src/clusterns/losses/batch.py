"""Both views of a batch, and comparisons of its rows that never hold a large matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from clusterns.losses.distributed import gather, rank
from clusterns.losses.functional import cosine_matrix

# Of an (n, N) matrix that is held at once. A comparison holds about ten: 40 MiB in fp32.
MOST_CELLS = 2**20


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

    def similarities(self) -> Tensor:
        """(n, N) cosines of the anchors with all positives."""
        return cosine_matrix(self.anchors, self.all_positives)

    def by_rows(self, compare: Callable[[Batch], tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
        """The (n,) results of ``compare``, which looks at each anchor on its own.

        A large batch is compared a slice of its anchors at a time, in the backward pass once more,
        so that memory grows with N and not with its square.
        """
        size = max(1, MOST_CELLS // len(self.all_positives))
        if len(self.anchors) <= size:
            return compare(self)
        slices = [
            replace(self, anchors=anchors, targets=targets)
            for anchors, targets in zip(
                self.anchors.split(size), self.targets.split(size), strict=True
            )
        ]
        found = [checkpoint(compare, rows, use_reentrant=False) for rows in slices]
        return tuple(torch.cat(column) for column in zip(*found, strict=True))
