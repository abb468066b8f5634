"""How much memory this process holds, and how much it could still get."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import torch

PROCESS_GROUPS = Path("/proc/self/cgroup")
LIMITS = Path("/sys/fs/cgroup")


def held_bytes(device: torch.device) -> int:
    """Memory that this process holds: of the machine for a CPU, else of the device."""
    if device.type == "cuda":
        return torch.cuda.memory_allocated(device)
    return int(psutil.Process().memory_info().rss)


def free_bytes(device: torch.device) -> int | None:
    """Memory that this process could still get on ``device``; None where that is not known.

    On a CPU, the processes of this machine that train together share it evenly.
    """
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    if device.type != "cpu":
        return None
    free = min(psutil.virtual_memory().available, *_left_by_limits())
    return free // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def _left_by_limits() -> Iterator[int]:
    """What is left of each limit that a container, a job scheduler or the system has set."""
    yield psutil.virtual_memory().total
    # Not on every system, and in two layouts: one group for all, or one for memory alone.
    lines = PROCESS_GROUPS.read_text().splitlines() if PROCESS_GROUPS.exists() else []
    for _, controllers, path in (line.split(":", 2) for line in lines):
        root, names = LIMITS, ("memory.max", "memory.current")
        if controllers:
            root, names = LIMITS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        if not controllers or "memory" in controllers.split(","):
            # A group is held by the limits of those above it as well.
            for folder in (group := root / path.lstrip("/"), *group.parents):
                if folder.is_relative_to(root):
                    yield from _left(folder, *names)


def _left(folder: Path, limit: str, usage: str) -> Iterator[int]:
    """What is left of the limit of one group, if it has one."""
    try:
        most, used = int((folder / limit).read_text()), int((folder / usage).read_text())
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):  # no such group, or "max"
        return
    # Pages of files are given back when memory runs short.
    kinds = ("active_file", "inactive_file")
    files = sum(int(stat.get(f"total_{kind}", stat.get(kind, 0))) for kind in kinds)
    yield max(most - used + files, 0)
