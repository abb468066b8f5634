"""Parts: the terms that a method adds to the contrastive loss, and the batch that they are computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from clusterns.losses.distributed import gather, get_rank
from clusterns.losses.features import Features
from clusterns.settings import Settings

# Maximum number of elements of an (n, N) matrix: on a CPU, that of a batch of 512 (1 MiB in fp32). A
# comparison holds about ten of them. On a GPU each operation has to be launched, so chunks are larger.
MAX_ELEMENTS = 2**18
MAX_ELEMENTS_GPU = 2**24


def max_elements(device: torch.device) -> int:
    """Maximum number of elements of a matrix on ``device``."""
    return MAX_ELEMENTS if device.type == "cpu" else MAX_ELEMENTS_GPU


@dataclass(frozen=True)
class Batch:
    """The views of a batch: this process's anchors, and the rows of all processes."""

    anchors: Tensor
    """(n, d) of this process."""
    all_views: tuple[Tensor, ...]
    """(N, d) each, of all processes: anchors, positives and any other views."""
    index: Tensor
    """(n,) row of each anchor among the N."""

    @classmethod
    def of(cls, *views: Tensor) -> Batch:
        """Gather the (n, d) rows of every process."""
        anchors = views[0]
        first = get_rank() * len(anchors)
        return cls(
            anchors=anchors,
            all_views=tuple(gather(view) for view in views),
            index=torch.arange(first, first + len(anchors), device=anchors.device),
        )

    @property
    def all_anchors(self) -> Tensor:
        """(N, d)."""
        return self.all_views[0]

    @property
    def all_positives(self) -> Tensor:
        """(N, d)."""
        return self.all_views[1]

    def detached(self) -> Batch:
        """The same values without gradient."""
        views = tuple(view.detach() for view in self.all_views)
        return replace(self, anchors=self.anchors.detach(), all_views=views)

    def in_chunks(
        self, compare: Callable[[Rows], tuple[Tensor, ...]], n_negatives: int = 0
    ) -> tuple[Tensor, ...]:
        """The (n,) results of ``compare``, which treats each anchor independently.

        A large batch is compared in chunks of anchors, and once more in the backward pass, so
        memory is linear in N rather than quadratic.

        Args:
            compare: returns (n,) tensors for n anchors.
            n_negatives: columns that ``compare`` adds to the N columns of its matrices.
        """
        all_views = tuple(F.normalize(view, dim=-1) for view in self.all_views)
        rows = Rows(F.normalize(self.anchors, dim=-1), all_views, self.index)
        elements = max_elements(self.anchors.device)
        size = max(1, elements // (len(self.all_anchors) + n_negatives))
        if len(self.anchors) <= size:
            return compare(rows)
        chunks = zip(rows.anchors.split(size), rows.index.split(size), strict=True)

        def compare_chunk(anchors: Tensor, index: Tensor) -> tuple[Tensor, ...]:
            # A new object, so that nothing computed from it is kept for the backward pass.
            return compare(replace(rows, anchors=anchors, index=index))

        results = [checkpoint(compare_chunk, *chunk, use_reentrant=False) for chunk in chunks]
        return tuple(torch.cat(column) for column in zip(*results, strict=True))


@dataclass(frozen=True)
class Rows(Batch):
    """Some of the anchors and all rows that they are compared with, as unit vectors."""

    @cached_property
    def similarities(self) -> Tensor:
        """(n, N) cosines of the anchors with all positives."""
        return self.anchors @ self.all_positives.T

    @cached_property
    def own_similarities(self) -> Tensor:
        """(n, 1) cosines of the anchors with their own positives."""
        return self.similarities.gather(1, self.index[:, None])

    def anchor_similarities(self) -> Tensor:
        """(n, N) cosines of the anchors with all anchors."""
        return self.anchors @ self.all_anchors.T


@dataclass(frozen=True)
class Penalty:
    """A term added to InfoNCE: the mean of its values over all processes."""

    name: str
    """Its name in the log."""
    sums: Tensor
    """(n,) sum of each row's values."""
    counts: Tensor
    """(n,) number of values in each row's sum."""
    weight: float = 1.0
    """Its weight in the loss."""


@dataclass(frozen=True)
class Terms:
    """The terms of a part for n anchors and the N rows that they are compared with."""

    negatives: Tensor | None = None
    """(n, k) cosines with extra negatives."""
    negative_weights: Tensor | None = None
    """(k,) or (n, k) weights of the extra negatives. None: 1."""
    in_batch_weights: Tensor | None = None
    """(n, N) weights in the denominator. Column ``index[i]`` is anchor i's own positive: leave it at 1. None: all 1."""
    mask: Tensor | None = None
    """(n, N) pairs that are excluded from the denominator."""
    extra_positives: Tensor | None = None
    """(n, N) pairs that are added to the numerator."""
    penalties: Sequence[Penalty] = ()


TermsOf = Callable[[Rows], Terms]


class Part(nn.Module):
    """One part of a loss, with its settings. A new one overrides :meth:`terms`, and other methods as needed.

    State that persists from step to step belongs in buffers and ``counters``, which checkpoints
    contain. A second model is frozen, and its attribute must not be called ``model``: Sentence
    Transformers would replace it with the model being trained.
    """

    n_negatives: int = 0
    """Extra negatives per row; the size of a chunk depends on it."""
    counters: ClassVar[tuple[str, ...]] = ()
    """Attributes of the state whose values are integers or None. Unlike buffers they stay on
    the CPU, so that reading them never waits for a GPU."""
    citation: ClassVar[str] = ""
    """Key of the paper in citations.bib, or BibTeX, for the model card."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__()
        self.settings = settings or Settings()
        self.events: list[str] = []
        """Lines for the log, such as "clustering starts"."""

    def observe(self, model: Any, columns: Sequence[Features], training: bool) -> None:
        """Read this process's tokenized columns once per step, before they are encoded.

        Runs without gradient.

        Args:
            model: the model being trained, which may be wrapped for data parallelism.
            columns: the views, the anchors' first, then any auxiliary columns.
            training: whether this is a training step; otherwise no state may change.
        """

    def terms(self, batch: Batch, training: bool) -> TermsOf | None:
        """Process the embedded batch once per step, and return a function that computes the terms.

        Args:
            batch: the rows of all processes: state computed from them is the same everywhere.
            training: whether this is a training step; otherwise no state may change.

        Returns:
            A function from some of the rows to their terms, or None while the part is inactive. It
            may be called again in the backward pass, so it must read a snapshot that no later step
            changes in place.
        """
        raise NotImplementedError

    def diagnostics(self, batch: Batch) -> Mapping[str, Tensor | float]:
        """Diagnostics of the last batch for the log, computed on request."""
        return {}

    def summary(self) -> Mapping[str, Any]:
        """Facts about this part for the results of a run."""
        return {}

    def warning(self) -> str | None:
        """A warning for the user at the end of a run, if part of the method had no effect."""
        return None

    def get_extra_state(self) -> Tensor:
        """The counters."""
        values = [getattr(self, name) for name in self.counters]
        return torch.tensor([-1 if value is None else value for value in values], dtype=torch.long)

    def set_extra_state(self, state: Tensor) -> None:
        """Restore the counters."""
        for name, value in zip(self.counters, state.tolist(), strict=True):
            setattr(self, name, None if value < 0 else value)


def step_generator(seed: int, step: int) -> torch.Generator:
    """Random numbers of one step on the CPU: the same on every process, machine and resume."""
    return torch.Generator().manual_seed((seed << 32) + step)


def combine(terms: Sequence[Terms]) -> dict[str, Tensor | None]:
    """The terms of several parts as arguments of :func:`info_nce`."""
    negatives, weights = [], []
    for each in terms:
        if each.negatives is not None:
            negatives.append(each.negatives)
            ones = torch.ones_like(each.negatives)
            own = each.negative_weights
            weights.append(ones if own is None else own.expand_as(each.negatives))
    is_weighted = any(each.negative_weights is not None for each in terms)
    mask = _joined((each.mask for each in terms), torch.logical_or)
    extra_positives = _joined((each.extra_positives for each in terms), torch.logical_or)
    if mask is not None and extra_positives is not None:
        # A positive of one part stays in the denominator, even if another part masks it.
        mask = mask & ~extra_positives
    return {
        "negatives": torch.cat(negatives, dim=1) if negatives else None,
        "negative_weights": torch.cat(weights, dim=1) if is_weighted else None,
        "in_batch_weights": _joined((each.in_batch_weights for each in terms), torch.mul),
        "mask": mask,
        "extra_positives": extra_positives,
    }


def _joined(
    cells: Iterable[Tensor | None], join: Callable[[Tensor, Tensor], Tensor]
) -> Tensor | None:
    given = [each for each in cells if each is not None]
    return reduce(join, given) if given else None
