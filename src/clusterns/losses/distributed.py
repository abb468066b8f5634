"""All that the losses know of several devices."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch.distributed as dist
from sentence_transformers.util import all_gather_with_grad
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel


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


def total(count: Tensor) -> Tensor:
    """The sum of the processes' counts (scalars), without gradient."""
    count = count.detach().clone()
    if world_size() > 1:
        dist.all_reduce(count)
    return count


def unaveraged(model: Any) -> AbstractContextManager[None]:
    """Within the block, forward and backward passes leave their gradients in this process."""
    return model.no_sync() if isinstance(model, DistributedDataParallel) else nullcontext()


def sum_in_turn(model: Any, first: Tensor, last: Tensor) -> Tensor:
    """``first + last``, two losses (scalars) of ``model``, one after the other in the backward pass.

    Data parallelism averages the gradients of the processes once a step. A loss with a gradient
    cache does so at its end, and must be the last one; the other one runs unaveraged before it.

    Args:
        model: the model, which may be wrapped for data parallelism.
        first: a loss whose forward pass ran within :func:`unaveraged`.
        last: a loss with a gradient cache.
    """
    both = (first.detach() + last.detach()).requires_grad_()

    def backward(gradient: Tensor) -> None:
        with unaveraged(model):
            first.backward(gradient)
        last.backward(gradient)

    both.register_hook(backward)
    return both
