"""The views of a batch, and comparisons of its rows that never hold a large matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from clusterns.losses.distributed import gather, rank

# Of an (n, N) matrix that is held at once: on a CPU that of a batch of 512, 1 MiB in fp32. A
# comparison holds about ten. A GPU waits for each operation to be asked for, so there are few.
MOST_CELLS = 2**18
MOST_CELLS_ON_GPU = 2**24


def most_cells(device: torch.device) -> int:
    """Cells of a matrix that is held at once on ``device``."""
    return MOST_CELLS if device.type == "cpu" else MOST_CELLS_ON_GPU


@dataclass(frozen=True)
class Rows:
    """Some anchors, and all rows that they are compared with, as unit vectors."""

    anchors: Tensor
    """(n, d)."""
    all_views: tuple[Tensor, ...]
    """(N, d) each: anchors, positives, and what other views there are."""
    targets: Tensor
    """(n,) the row of each anchor among the N."""

    @property
    def all_anchors(self) -> Tensor:
        """(N, d)."""
        return self.all_views[0]

    @property
    def all_positives(self) -> Tensor:
        """(N, d)."""
        return self.all_views[1]

    @cached_property
    def similarities(self) -> Tensor:
        """(n, N) cosines of the anchors with all positives."""
        return self.anchors @ self.all_positives.T

    @cached_property
    def own_similarities(self) -> Tensor:
        """(n, 1) cosines of the anchors with their own positives."""
        return self.similarities.gather(1, self.targets[:, None])

    def anchor_similarities(self) -> Tensor:
        """(n, N) cosines of the anchors with all anchors."""
        return self.anchors @ self.all_anchors.T


@dataclass(frozen=True)
class Batch:
    """The views of a batch: this process's anchors, and the rows of all processes."""

    anchors: Tensor
    """(n, d) of this process."""
    all_views: tuple[Tensor, ...]
    """(N, d) each, of all processes: anchors, positives, and what other views there are."""
    targets: Tensor
    """(n,) the row of each anchor among the N."""

    @classmethod
    def of(cls, *views: Tensor) -> Batch:
        """Gather the (n, d) rows of every process."""
        anchors = views[0]
        first = rank() * len(anchors)
        return cls(
            anchors=anchors,
            all_views=tuple(gather(view) for view in views),
            targets=torch.arange(first, first + len(anchors), device=anchors.device),
        )

    @property
    def all_anchors(self) -> Tensor:
        """(N, d) of all processes."""
        return self.all_views[0]

    @property
    def all_positives(self) -> Tensor:
        """(N, d) of all processes."""
        return self.all_views[1]

    def detached(self) -> Batch:
        """The same numbers without gradient."""
        return replace(
            self,
            anchors=self.anchors.detach(),
            all_views=tuple(view.detach() for view in self.all_views),
        )

    def by_rows(
        self, compare: Callable[[Rows], tuple[Tensor, ...]], columns: int = 0
    ) -> tuple[Tensor, ...]:
        """The (n,) results of ``compare``, which looks at each anchor on its own.

        A large batch is compared a slice of its anchors at a time, in the backward pass once more,
        so that memory grows with N and not with its square.

        Args:
            compare: gives (n,) tensors for n anchors.
            columns: what ``compare`` adds to the N columns of its matrices.
        """
        all_views = tuple(F.normalize(view, dim=-1) for view in self.all_views)
        rows = Rows(F.normalize(self.anchors, dim=-1), all_views, self.targets)
        cells = most_cells(self.anchors.device)
        size = max(1, cells // (len(self.all_anchors) + columns))
        if len(self.anchors) <= size:
            return compare(rows)
        slices = zip(rows.anchors.split(size), rows.targets.split(size), strict=True)

        def compare_some(some: Tensor, own: Tensor) -> tuple[Tensor, ...]:
            # Made anew for the backward pass, so that nothing computed from them is kept.
            return compare(replace(rows, anchors=some, targets=own))

        found = [checkpoint(compare_some, *each, use_reentrant=False) for each in slices]
        return tuple(torch.cat(column) for column in zip(*found, strict=True))
