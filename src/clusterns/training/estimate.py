"""What a run would cost, measured on a few batches that change nothing."""

from __future__ import annotations

import resource
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import batch_to_device

from clusterns.training.build import build_collator, build_loss, build_model
from clusterns.training.recipe import Recipe

TRIAL_BATCHES = 3
# Per parameter: the weight, its gradient and AdamW's two moments, 4 bytes each.
BYTES_PER_PARAMETER = 16


@dataclass(frozen=True)
class Estimate:
    """Time and memory of a run on this machine."""

    steps: int
    seconds_per_step: float
    peak_bytes: int
    parameters: int

    def summary(self) -> str:
        """Say it in a sentence."""
        seconds = self.steps * self.seconds_per_step
        hours, minutes = divmod(round(seconds / 60), 60)
        length = f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"
        if seconds < 60:
            length = f"{seconds:.0f} s"
        return (
            f"{self.steps:,} steps at {self.seconds_per_step:.2f} s a step, about {length} without "
            f"validations; {self.parameters / 1e6:.1f} M parameters, about "
            f"{self.peak_bytes / 2**30:.1f} GiB of memory."
        )


def planned_steps(recipe: Recipe, rows: int) -> int:
    """Steps of a run over ``rows`` sentences, early stopping aside."""
    return recipe.max_steps or max(1, int(rows // recipe.batch_size * recipe.epochs))


def estimate(recipe: Recipe, dataset: Dataset) -> Estimate:
    """Run forward and backward on a few batches, with no step of the optimizer."""
    model = build_model(recipe)
    loss = build_loss(recipe, model, dataset["text"])
    collator = build_collator(recipe, model)
    model.train()
    times = []
    for batch in range(TRIAL_BATCHES):
        first = batch * recipe.batch_size % max(1, len(dataset) - recipe.batch_size)
        rows = [{"text": text} for text in dataset[first : first + recipe.batch_size]["text"]]
        begun = time.perf_counter()
        inputs = collator(rows)
        columns = [_column(inputs, view) for view in ("anchor", "positive")]
        features = [batch_to_device(column, model.device) for column in columns if column]
        loss(features).backward()
        times.append(time.perf_counter() - begun)
        model.zero_grad()
    parameters = sum(p.numel() for p in model.parameters())
    return Estimate(
        steps=planned_steps(recipe, len(dataset)),
        # The first batch pays for warming up.
        seconds_per_step=statistics.median(times[1:]),
        peak_bytes=_peak_bytes(model) + parameters * BYTES_PER_PARAMETER // 2,
        parameters=parameters,
    )


def _column(inputs: dict[str, Any], view: str) -> dict[str, Any]:
    """The tokenised rows of one view, as the trainer hands them to the loss."""
    prefix = f"{view}_"
    return {key.removeprefix(prefix): v for key, v in inputs.items() if key.startswith(prefix)}


def _peak_bytes(model: SentenceTransformer) -> int:
    """Most memory held so far; the moments of AdamW are not yet among it."""
    if model.device.type == "cuda":
        return torch.cuda.max_memory_allocated(model.device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
