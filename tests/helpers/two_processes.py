"""Two processes that work together, as two GPUs would."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from tests.helpers.commands import PRELOAD


def start_two(function: Callable[..., None], *args: Any) -> None:
    """Run ``function(rank, *args)`` in two processes, which a server with all imports done forks."""
    multiprocessing.set_forkserver_preload(PRELOAD)
    mp.start_processes(function, args, nprocs=2, start_method="forkserver")


def join(rank: int, folder: Path) -> None:
    """Meet the other process in ``folder``."""
    torch.set_num_threads(1)
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
    os.environ.update({key: str(value) for key, value in place.items()})
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
