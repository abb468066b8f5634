"""Between two models of one architecture: their weights, averaged."""

from __future__ import annotations

from copy import deepcopy

import torch
from sentence_transformers import SentenceTransformer


@torch.no_grad()
def between(
    start: SentenceTransformer, trained: SentenceTransformer, share: float
) -> SentenceTransformer:
    """The model whose weights lie ``share`` of the way from ``start`` to ``trained``; 0 and 1 are theirs
    exactly. Both stay as they are."""
    made = deepcopy(start)
    before, after = start.state_dict(), trained.state_dict()
    for name, own in made.state_dict().items():
        other = after[name].to(own)
        if own.is_floating_point() and not torch.equal(before[name], other):
            # From the start's own value: tied weights come twice. And so that share 1 is exact.
            own.copy_(other if share == 1 else torch.lerp(before[name], other, share))
    return made
