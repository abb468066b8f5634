"""Random numbers that leave no trace."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch


def kept_random_state(device: torch.device) -> AbstractContextManager[None]:
    """After the block, the random states of the host and of ``device`` are what they were."""
    if device.type == "cpu":
        return torch.random.fork_rng(devices=[])
    index = torch.accelerator.current_device_index() if device.index is None else device.index
    return torch.random.fork_rng(devices=[index], device_type=device.type)
