"""Parts: what a method adds to the contrastive loss, each with its own state and its own terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from clusterns.losses.batch import Batch, Rows
from clusterns.losses.tokenised import Features


@dataclass(frozen=True)
class Penalty:
    """A term beside InfoNCE: its mean over all that it counts, of all processes."""

    name: str
    """Its name in the log."""
    sums: Tensor
    """(n,) sum of each row."""
    counts: Tensor
    """(n,) how many values each row has summed."""
    weight: float = 1.0
    """Its weight in the loss."""


@dataclass(frozen=True)
class Terms:
    """What a part has to say about n anchors and the N rows that they are compared with."""

    negatives: Tensor | None = None
    """(n, k) cosines with extra negatives."""
    negative_weights: Tensor | None = None
    """(k,) or (n, k) weights of the extra negatives. None: 1."""
    excluded: Tensor | None = None
    """(n, N) cells that leave the denominator."""
    extra_positives: Tensor | None = None
    """(n, N) cells that join the numerator."""
    penalties: Sequence[Penalty] = ()


TermsOf = Callable[[Rows], Terms]


class Part:
    """One ingredient of a loss. A new one overrides :meth:`follow`, and what else it needs.

    What a part remembers from step to step are the buffers of the modules in ``state``: the loss
    registers them under their names, so they follow its device and are its checkpoint. None may be
    called ``model``, which Sentence Transformers replaces; a second model is frozen.
    """

    columns = 0
    """Extra negatives of a row: with them, the loss knows how many rows to compare at once."""
    citation = ""
    """BibTeX for the model card."""

    def __init__(self) -> None:
        self.state: dict[str, nn.Module] = {}
        self.events: list[str] = []
        """One-line news for the log ("clustering starts"); whoever shows them takes them out."""

    def see(self, model: Any, columns: Sequence[Features], learn: bool) -> None:
        """Look at the tokenised columns of this process, once a step, before the encoder does.

        Runs without gradient.

        Args:
            model: the model that is trained, which may be wrapped for data parallelism.
            columns: the views, the anchors' first, and any column that is not for the encoder.
            learn: whether this is a training step; in others no state may change.
        """

    def follow(self, batch: Batch, learn: bool) -> TermsOf | None:
        """Take in the embedded batch, once a step, and give the terms of its rows.

        Args:
            batch: the rows of all processes: a state that comes from them is equal everywhere.
            learn: whether this is a training step; in others no state may change.

        Returns:
            A function from some of the rows to their terms, or None while the part is not active.
            It may be called again in the backward pass: what it reads must be a snapshot that no
            later step changes in place.
        """
        raise NotImplementedError

    def diagnostics(self, batch: Batch) -> Mapping[str, Tensor | float]:
        """Figures of the last batch for the log, computed when asked."""
        return {}

    def facts(self) -> Mapping[str, Any]:
        """What the results of a run should say of this part."""
        return {}

    def last_words(self) -> str | None:
        """A sentence for the user at the end of a run, where something did not happen."""
        return None

    def config(self) -> Mapping[str, Any]:
        """Settings for the model card."""
        return {}


def step_generator(seed: int, step: int) -> torch.Generator:
    """Random numbers of one step on the host: the same on every process, machine and resume."""
    return torch.Generator().manual_seed((seed << 32) + step)


def joined(terms: Sequence[Terms]) -> dict[str, Tensor | None]:
    """The terms of several parts as arguments of :func:`info_nce`."""
    given = [each for each in terms if each.negatives is not None]
    negatives = [each.negatives for each in given if each.negatives is not None]
    weights: Tensor | None = None
    if any(each.negative_weights is not None for each in given):
        weights = torch.cat(
            [
                torch.ones_like(columns)
                if each.negative_weights is None
                else each.negative_weights.expand_as(columns)
                for each, columns in zip(given, negatives, strict=True)
            ],
            dim=1,
        )
    excluded = _any(each.excluded for each in terms)
    extra_positives = _any(each.extra_positives for each in terms)
    if excluded is not None and extra_positives is not None:
        # What one part takes for a positive is in the denominator as well, whatever another says.
        excluded = excluded & ~extra_positives
    return {
        "negatives": torch.cat(negatives, dim=1) if negatives else None,
        "negative_weights": weights,
        "excluded": excluded,
        "extra_positives": extra_positives,
    }


def _any(cells: Iterable[Tensor | None]) -> Tensor | None:
    found: Tensor | None = None
    for each in cells:
        if each is not None:
            found = each if found is None else found | each
    return found
