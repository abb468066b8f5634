"""Checkpoints that hold everything, and only whole ones."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor, nn

LOSS_FILE = "loss.safetensors"


def save_loss(loss: nn.Module, folder: Path) -> None:
    """Save the state of the loss itself (centroids, counters); the model saves its own."""
    save_file(_own_state(loss), folder / LOSS_FILE)


def load_loss(loss: nn.Module, folder: Path) -> None:
    """Restore what :func:`save_loss` saved."""
    loss.load_state_dict(load_file(folder / LOSS_FILE), strict=False)


def _own_state(loss: nn.Module) -> dict[str, Tensor]:
    return {
        key: value.contiguous()
        for key, value in loss.state_dict().items()
        if not key.startswith("model.")
    }


def last_checkpoint(folder: Path) -> Path | None:
    """The newest whole checkpoint; what a killed run left half-written is removed.

    The trainer writes its state file last, so a checkpoint in which that file can be read is whole.
    """
    whole: dict[int, Path] = {}
    for path in folder.glob("checkpoint-*"):
        match = re.fullmatch(r"checkpoint-(\d+)", path.name)
        if match is None:
            continue
        try:
            state = json.loads((path / "trainer_state.json").read_text("utf-8"))
            whole[int(state["global_step"])] = path
        except (OSError, ValueError, KeyError):
            shutil.rmtree(path, ignore_errors=True)
    return whole[max(whole)] if whole else None
