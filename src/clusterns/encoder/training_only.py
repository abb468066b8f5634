"""What is part of a model while it trains, and of no saved one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sentence_transformers import SentenceTransformer


class TrainingOnly:
    """Base of the modules that exist in training only.

    They are modules of the model, not of the loss, so that the trainer wraps, clips and checkpoints
    their weights like all others. In eval mode they are the identity, and at the end they are taken
    off.
    """

    training: bool  # of the module
    always_on = False

    @property
    def is_on(self) -> bool:
        """Whether the module does its work, and is not the identity."""
        return self.training or self.always_on


@contextmanager
def heads_on(model: SentenceTransformer) -> Iterator[None]:
    """Within the block, ``model`` gives training vectors (after the head) in eval mode too."""
    modules = [module for module in model if isinstance(module, TrainingOnly)]
    for module in modules:
        module.always_on = True
    try:
        yield
    finally:
        for module in modules:
            module.always_on = False
