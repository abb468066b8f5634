from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset

from clusterns.errors import UserError
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.training import build
from clusterns.training import memory as memory_module
from clusterns.training.estimate import TRIAL_BATCHES, estimate, planned_steps
from clusterns.training.recipe import Recipe, load_recipe
from tests.helpers.texts import sentences


def recipe(base: Path, **changes: Any) -> Recipe:
    values = {"base": str(base), "batch_size": 64, "clusters": 4, "pooling": "cls"}
    return load_recipe("default", {**values, **changes})


@pytest.fixture(scope="module")
def corpus() -> Dataset:
    return Dataset.from_dict({"text": sentences(200, words=(3, 20))})


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Recipe]:
    """The recipes whose losses the estimate has tried."""
    original: Any = build.build_loss
    found: list[Recipe] = []

    def build_loss(chosen: Recipe, *parts: Any) -> Any:
        found.append(chosen)
        return original(chosen, *parts)

    monkeypatch.setattr(build, "build_loss", build_loss)
    return found


def test_the_summary_gives_time_and_memory_with_and_without_the_cache(
    tiny_bert: Path, corpus: Dataset, built: list[Recipe]
) -> None:
    found = estimate(recipe(tiny_bert), corpus)
    assert found.steps == 3
    assert found.seconds_per_step > 0
    assert found.memory.step > 12 * found.parameters
    summary = found.summary()
    assert summary.startswith("3 steps at ")
    assert "GiB of memory, " in summary
    assert summary.endswith("GiB with gradient_cache=true.")
    assert [each.gradient_cache for each in built] == [False]
    hours = replace(found, steps=7200, seconds_per_step=1.0).summary()
    assert "7,200 steps at 1.00 s a step, about 2 h 00 min" in hours
    cached = replace(found, recipe=recipe(tiny_bert, gradient_cache=True)).summary()
    assert cached.endswith("GiB of memory.")


def test_what_does_not_fit_is_not_tried(
    tiny_bert: Path, corpus: Dataset, built: list[Recipe], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = recipe(tiny_bert, batch_size=160)
    memory = estimate(chosen, corpus).memory
    between = (memory.step + memory.cached) // 2
    monkeypatch.setattr(memory_module, "free_bytes", lambda device: between)
    built.clear()
    summary = estimate(chosen, corpus).summary()
    assert [each.gradient_cache for each in built] == [False, True]
    assert "which does not fit" in summary
    assert summary.endswith("with gradient_cache=true; the time is measured with it.")

    monkeypatch.setattr(memory_module, "free_bytes", lambda device: 1000)
    with pytest.raises(UserError, match="lower mini_batch_size"):
        estimate(chosen, corpus)


def test_planned_steps_are_whole_batches(tiny_bert: Path) -> None:
    assert planned_steps(recipe(tiny_bert, epochs=2), 200) == 6
    assert planned_steps(recipe(tiny_bert, max_steps=5), 200) == 5
    assert planned_steps(recipe(tiny_bert, epochs=0.1), 200) == 1


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_time_is_that_of_the_precision(
    tiny_bert: Path, corpus: Dataset, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each of the trial steps the encoder computes as it would in the run."""
    found = []
    forward = ContrastiveLoss.forward

    def spy(self: ContrastiveLoss, *arguments: Any) -> torch.Tensor:
        found.append(torch.is_autocast_enabled("cpu"))
        return forward(self, *arguments)

    monkeypatch.setattr(ContrastiveLoss, "forward", spy)
    estimate(recipe(tiny_bert, precision=precision), corpus)
    assert found == [precision == "bf16"] * TRIAL_BATCHES
