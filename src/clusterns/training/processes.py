"""The processes that train together."""

from __future__ import annotations

import torch
from accelerate import PartialState


def processes() -> PartialState:
    """This process's place among those that a launcher (torchrun, accelerate) has started."""
    return PartialState(cpu=not torch.accelerator.is_available())
