"""Checkpoints: save and restore the state of a loss, and find complete checkpoints."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from zipfile import is_zipfile

from safetensors.torch import load_file, load_model, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from torch import Tensor, nn
from transformers import TrainerState

from clusterns.errors import UserError

LOSS_FILE = "loss.safetensors"


def save_loss(loss: nn.Module, folder: Path) -> None:
    """Save the loss's own state (centroids, queues); the model saves its own."""
    save_file(_own_state(loss), folder / LOSS_FILE)


def load_loss(loss: nn.Module, folder: Path) -> None:
    """Restore what :func:`save_loss` saved."""
    if not (folder / LOSS_FILE).is_file():
        if not _own_state(loss):
            return
        raise UserError(
            f"{folder} does not contain the state of the loss (centroids, queues), so training cannot be "
            "resumed exactly. Train with clusterns.ContrastiveTrainer, which saves it."
        )
    missing, unexpected = loss.load_state_dict(load_file(folder / LOSS_FILE), strict=False)
    lost = [key for key in missing if not key.startswith("model.")]
    if lost or unexpected:
        raise UserError(
            f"{folder} was written by another method or by an earlier version of clusterns, so the "
            f"run cannot be resumed: train again in another folder ({[*lost, *unexpected]})."
        )


def _own_state(loss: nn.Module) -> dict[str, Tensor]:
    state: dict[str, Tensor] = {}
    seen: set[int] = set()
    for key, value in loss.state_dict().items():
        if not key.startswith("model."):
            # A second model may have a weight under two names, which the format does not allow.
            state[key] = value.clone() if value.data_ptr() in seen else value.contiguous()
            seen.add(value.data_ptr())
    return state


def load_weights(model: SentenceTransformer, folder: Path) -> None:
    """Load a checkpoint into the model that was trained, module by module."""
    modules = json.loads((folder / "modules.json").read_text("utf-8"))
    for module, entry in zip(model, modules, strict=True):
        file = folder / entry["path"] / "model.safetensors"
        if file.exists():
            load_model(module.model if isinstance(module, Transformer) else module, file)


def trainer_state(folder: Path) -> TrainerState:
    """The trainer's state in a checkpoint."""
    return TrainerState.load_from_json(str(folder / "trainer_state.json"))


def is_over(state: TrainerState, patience: int) -> bool:
    """Whether training is finished: all steps are done, or early stopping has ended the run."""
    stopping = state.stateful_callbacks.get("EarlyStoppingCallback", {})
    waited = stopping.get("attributes", {}).get("early_stopping_patience_counter", 0)
    return state.global_step >= state.max_steps or 0 < patience <= waited


def last_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint, or None."""
    whole = {step: path for path in _checkpoints(folder) if (step := _step(path)) is not None}
    return whole[max(whole)] if whole else None


def remove_half_written(folder: Path) -> None:
    """Remove incomplete checkpoints of an interrupted run."""
    for path in _checkpoints(folder):
        if _step(path) is None:
            shutil.rmtree(path, ignore_errors=True)


def _checkpoints(folder: Path) -> list[Path]:
    return [path for path in folder.glob("checkpoint-*") if re.search(r"-\d+$", path.name)]


def _step(checkpoint: Path) -> int | None:
    """The step of a complete checkpoint, else None.

    The trainer writes its state file last, so a checkpoint is complete if that file can be read and
    the other processes have finished writing their random states.
    """
    try:
        step = int(trainer_state(checkpoint).global_step)
    except (OSError, ValueError, TypeError):
        return None
    return step if all(map(is_zipfile, checkpoint.glob("rng_state*.pth"))) else None
