"""All that the losses know of several devices."""

from __future__ import annotations

import torch.distributed as dist
from sentence_transformers.util import all_gather_with_grad
from torch import Tensor


def world_size() -> int:
    """Number of processes that train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Number of this process."""
    return dist.get_rank() if world_size() > 1 else 0


def gather(rows: Tensor) -> Tensor:
    """The rows of all processes, in rank order, with gradient to the process they came from."""
    return all_gather_with_grad(rows) if world_size() > 1 else rows


def broadcast(tensor: Tensor) -> Tensor:
    """The first process's value of ``tensor``, in place, on every process."""
    if world_size() > 1:
        dist.broadcast(tensor, src=0)
    return tensor
