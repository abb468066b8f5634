"""Checkpoints that hold everything, and only whole ones."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from safetensors.torch import load_file, load_model, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from torch import Tensor, nn
from transformers import TrainerState

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


def load_weights(model: SentenceTransformer, folder: Path) -> None:
    """Load the weights of a checkpoint into the model that was trained, module by module."""
    modules = json.loads((folder / "modules.json").read_text("utf-8"))
    for module, entry in zip(model, modules, strict=True):
        file = folder / entry["path"] / "model.safetensors"
        if file.exists():
            load_model(module.model if isinstance(module, Transformer) else module, file)


def trainer_state(folder: Path) -> TrainerState:
    """Where the trainer was when it wrote a checkpoint."""
    return TrainerState.load_from_json(str(folder / "trainer_state.json"))


def is_over(state: TrainerState, patience: int) -> bool:
    """Whether the run had nothing left to train: all its steps are done, or its patience is."""
    stopping = state.stateful_callbacks.get("EarlyStoppingCallback", {})
    waited = stopping.get("attributes", {}).get("early_stopping_patience_counter", 0)
    return state.global_step >= state.max_steps or 0 < patience <= waited


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
