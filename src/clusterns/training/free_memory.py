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
    try:
        lines = PROCESS_GROUPS.read_text().splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            root, limit, usage = LIMITS, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            root, limit, usage = (
                LIMITS / "memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
            )
        else:
            continue
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            # A group is held by the limits of those above it as well.
            if folder.is_relative_to(root):
                left = _left(folder, limit, usage)
                if left is not None:
                    yield left


def _left(folder: Path, limit: str, usage: str) -> int | None:
    try:
        most, used = (folder / limit).read_text().strip(), int((folder / usage).read_text())
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return None
    if most == "max":
        return None
    # Pages of files are given back when memory runs short.
    files = sum(
        int(stat.get(f"total_{kind}", stat.get(kind, 0)))
        for kind in ("active_file", "inactive_file")
    )
    return max(int(most) - used + files, 0)
