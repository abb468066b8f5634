"""Estimate the cost of a run from a few batches, without changing any state."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import torch
from datasets import Dataset

from clusterns.console import duration
from clusterns.errors import UserError
from clusterns.methods.registry import get_method
from clusterns.training.build import build
from clusterns.training.memory import (
    Memory,
    estimate_memory,
    gib,
    memory_errors,
    precision,
    shortage,
)
from clusterns.training.processes import processes
from clusterns.training.recipe import Recipe

TRIAL_BATCHES = 3


@dataclass(frozen=True)
class Estimate:
    """Time and memory of a run on this machine."""

    recipe: Recipe
    steps: int
    seconds_per_step: float
    """The recipe, with the gradient cache if it would not fit otherwise."""
    memory: Memory
    parameters: int

    def summary(self) -> str:
        """The estimate in a few sentences."""
        length = duration(self.steps * self.seconds_per_step)
        memory = self.memory
        text = (
            f"{self.steps:,} steps at {self.seconds_per_step:.2f} s a step, about {length} without "
            f"validations; {self.parameters / 1e6:.1f} M parameters, about "
            f"{gib(memory.held + memory.step)} of memory"
        )
        if self.recipe.gradient_cache:
            return f"{text}."
        cached = f"{gib(memory.held + memory.cached)} with gradient_cache=true"
        if memory.fits:
            return f"{text}, {cached}."
        assert memory.free is not None
        return (
            f"{text}, which does not fit: {gib(memory.free)} are free. About {cached}; the time is "
            "measured with it."
        )


def planned_steps(recipe: Recipe, rows: int) -> int:
    """Number of steps of a run over ``rows`` sentences, without early stopping."""
    return recipe.max_steps or max(1, int(rows // recipe.batch_size * recipe.epochs))


def estimate(recipe: Recipe, dataset: Dataset) -> Estimate:
    """Measure a few steps at a learning rate of 0."""
    if not get_method(recipe.method).trains:
        raise UserError(f"method {recipe.method} does not train, so there is nothing to estimate.")
    setup = build(recipe, dataset)
    memory = estimate_memory(setup)
    if not memory.fits_cached:
        raise UserError(shortage(recipe, memory))
    if not memory.fits:
        setup = setup.rebuild(recipe.model_copy(update={"gradient_cache": True}))
    model = setup.model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0)
    times: list[float] = []
    share = recipe.batch_size // processes().num_processes
    for batch in range(TRIAL_BATCHES):
        first = batch * recipe.batch_size % max(1, len(setup.rows) - recipe.batch_size)
        first += share * processes().process_index
        rows = list(setup.rows.select(range(first, first + share)))
        start = _now()
        with memory_errors(recipe):
            columns = setup.columns(rows)
            with precision(recipe, model.device):
                value = setup.loss(columns)
            value.backward()
            optimizer.step()
        optimizer.zero_grad()
        times.append(_now() - start)
    return Estimate(
        recipe=recipe,
        steps=planned_steps(recipe, len(setup.rows)),
        # The first batch includes the warm-up.
        seconds_per_step=statistics.median(times[1:]),
        memory=memory,
        parameters=sum(p.numel() for p in model.parameters()),
    )


def _now() -> float:
    """The clock, once the device has finished."""
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
    return time.perf_counter()
