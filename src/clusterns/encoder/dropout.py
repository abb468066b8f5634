"""Dropout: read, changed, and drawn faster on a CPU."""

from __future__ import annotations

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

STEPS = 2**16


class FastDropout(nn.Dropout):
    """Dropout whose masks cost a fraction on a CPU: four 16-bit draws from each 64 random bits.

    PyTorch draws one number a cell there, on one core. The probability is rounded to the next
    1/65,536; the cells that stay are scaled by the rounded one, so the mean is kept exactly.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Zero each cell with probability ``p`` while training, and scale the others."""
        dropped = round(self.p * STEPS)
        if not self.training or dropped in (0, STEPS) or input.device.type != "cpu":
            return super().forward(input)
        bits = torch.empty((input.numel() + 3) // 4, dtype=torch.int64)
        draws = bits.random_(-(2**63), None).view(torch.int16)[: input.numel()].view(input.shape)
        keep = (draws >= dropped - STEPS // 2).to(input.dtype)
        return input * keep.mul_(STEPS / (STEPS - dropped))


def draw_dropout_fast(model: SentenceTransformer) -> None:
    """Replace the dropout modules of ``model``; what is saved of it does not change."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.Dropout:
                setattr(module, name, FastDropout(child.p).train(child.training))


def set_dropout(model: SentenceTransformer, probability: float) -> None:
    """Change the dropout of a loaded model; its configuration, which is saved, stays as it was."""
    for module in model.modules():
        set_own_dropout(module, probability)


def set_own_dropout(module: nn.Module, probability: float) -> None:
    """Change the dropout of one module, and not that of the modules in it."""
    if isinstance(module, nn.Dropout):
        module.p = probability
    for name, value in vars(module).items():
        if name.endswith("dropout") and isinstance(value, float):
            setattr(module, name, probability)


def has_dropout(model: SentenceTransformer) -> bool:
    """Whether two passes of the same sentence differ in training."""
    return any(
        (isinstance(module, nn.Dropout) and module.p > 0)
        or any(
            n.endswith("dropout") and isinstance(v, float) and v > 0
            for n, v in vars(module).items()
        )
        for module in model.modules()
    )
