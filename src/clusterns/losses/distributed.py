"""Communication between processes for the losses."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch.distributed as dist
from sentence_transformers.util import all_gather_with_grad, get_rank, get_world_size
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

__all__ = [
    "add_sequential", "broadcast", "gather", "get_rank", "get_world_size", "no_sync", "total",
]  # fmt: skip


def gather(rows: Tensor) -> Tensor:
    """The rows of all processes in rank order, with gradient for this process's rows only."""
    return all_gather_with_grad(rows) if get_world_size() > 1 else rows


def broadcast(tensor: Tensor) -> Tensor:
    """The first process's value of ``tensor``, in place, on every process."""
    if get_world_size() > 1:
        dist.broadcast(tensor, src=0)
    return tensor


def total(count: Tensor) -> Tensor:
    """The sum of the processes' counts (scalars), without gradient."""
    count = count.detach().clone()
    if get_world_size() > 1:
        dist.all_reduce(count)
    return count


def no_sync(model: Any) -> AbstractContextManager[None]:
    """Within the block, gradients are not synchronized between processes."""
    return model.no_sync() if isinstance(model, DistributedDataParallel) else nullcontext()


def add_sequential(model: Any, first: Tensor, last: Tensor) -> Tensor:
    """``first + last``, two losses (scalars) of ``model`` whose backward passes run in this order.

    Data parallelism averages the gradients of the processes once per step. A loss with a gradient
    cache does this at its end, so it must come last; the other loss runs before it, without averaging.

    Args:
        model: the model, which may be wrapped for data parallelism.
        first: a loss whose forward pass ran within :func:`no_sync`.
        last: a loss with a gradient cache.
    """
    both = (first.detach() + last.detach()).requires_grad_()

    def backward(gradient: Tensor) -> None:
        with no_sync(model):
            first.backward(gradient)
        last.backward(gradient)

    both.register_hook(backward)
    return both
