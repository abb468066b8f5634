"""Each way to train gives, on two processes, the numbers of one: rows, losses, gradients, centroids."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from torch import Tensor
from transformers import DataCollatorForLanguageModeling

from clusterns.training import build, run
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import load_recipe
from clusterns.training.trainer import ContrastiveTrainer
from tests.helpers.models import Scripted
from tests.helpers.two_processes import join, start_two

WORDS = "river town music cell planet engine king harbour winter protein market song law".split()
COMMON = {
    "batch_size": 8, "clusters": 3, "start_step": 2, "positives": "crop", "dropout": 0.0,
    "max_steps": 5, "eval_steps": 5, "log_steps": 1, "learning_rate": 1e-3, "momentum": 0.1,
    "margin_weight": 1.0, "patience": 0,
}  # fmt: skip
SMALL = {"mini_batch_size": 3}
CACHED = {**SMALL, "gradient_cache": True}
SETTINGS: dict[str, dict[str, Any]] = {
    "mean": {"pooling": "mean", "false_negatives": "mask"},
    "template": {"template": "bert", **CACHED},
    "queue, cls and its head": {"pooling": "cls", "parts": ["queue"], **SMALL},
    "corpus": {"pooling": "mean", "initialization": "corpus", "initialization_sample": 100},
    "masked LM": {"pooling": "cls", "masked_lm_weight": 0.5},
    "masked LM with gradient cache": {"pooling": "cls", "masked_lm_weight": 0.5, **CACHED},
}
EPOCH = 3  # steps


class Recorder(ContrastiveTrainer):
    """Keeps what each step saw and computed."""

    steps: list[dict[str, Any]] = []

    def training_step(self, model: Any, inputs: dict[str, Any], *args: Any) -> Tensor:
        ids, seen = inputs["anchor_input_ids"], inputs["anchor_attention_mask"].bool()
        value = super().training_step(model, inputs, *args)
        part = self.loss.parts["Clustering"]
        self.steps.append(
            {
                "rows": [row[mask].tolist() for row, mask in zip(ids, seen, strict=True)],
                "value": value,
                "gradients": {
                    name: parameter.grad.clone()
                    for name, parameter in self.model.named_parameters()
                    if parameter.grad is not None
                },
                "centroids": part.centroids.clone(),
                "started_at": part.started_at,
                "random": torch.get_rng_state(),
            }
        )
        return value


def mask(self: Any, ids: Tensor, special_tokens_mask: Any = None) -> tuple[Tensor, Tensor]:
    """Masks that a token alone decides, where the library draws them."""
    chosen = (ids > 10) & (ids % 3 == 0)
    return torch.where(chosen, 4, ids), torch.where(chosen, ids, -100)


def record(base: Path, folder: Path, changes: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of a run in double precision, in which rounding decides no near tie."""
    generator = random.Random(0)
    texts = [
        " ".join(generator.choices(WORDS, k=generator.randint(4, 9)))
        for _ in range(EPOCH * COMMON["batch_size"] + 5)
    ]
    recipe = load_recipe("default", {"base": str(base), **COMMON, **changes})
    model, loss = build.build_model, build.build_loss
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "build_model", lambda *args: model(*args).double())
        patch.setattr(build, "build_loss", lambda *args: loss(*args).double())
        patch.setattr(run, "ContrastiveTrainer", Recorder)
        patch.setattr(Recorder, "steps", [])
        patch.setattr(DataCollatorForLanguageModeling, "torch_mask_tokens", mask)
        rows = Dataset.from_dict({"text": texts})
        run.train(recipe, rows, Scripted([0.1, 0.2]), RunFolder(folder), quiet=True)
        return Recorder.steps


def process(rank: int, folder: Path, base: Path) -> None:
    join(rank, folder)
    for name, changes in SETTINGS.items():
        torch.save(record(base, folder / name, changes), folder / f"{name}-{rank}.pt")


@pytest.fixture(scope="module")
def ranks(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    start_two(process, folder, tiny_bert)
    return folder


@pytest.mark.parametrize("name", SETTINGS)
def test_two_processes_train_as_one(
    ranks: Path, tiny_bert: Path, tmp_path: Path, name: str
) -> None:
    one = record(tiny_bert, tmp_path / "run", SETTINGS[name])
    first, second = (torch.load(ranks / f"{name}-{rank}.pt", weights_only=True) for rank in (0, 1))
    assert len(one) == len(first) == len(second) == COMMON["max_steps"] > EPOCH
    assert [step["started_at"] for step in one] == [None, 2, 2, 2, 2]
    for whole, *halves in zip(one, first, second, strict=True):
        assert whole["rows"] == halves[0]["rows"] + halves[1]["rows"]
        value = sum(half["value"] for half in halves) / 2
        torch.testing.assert_close(value, whole["value"], atol=1e-9, rtol=1e-9)
        # Dropout would draw another mask for each row of the batch.
        assert not torch.equal(halves[0]["random"], halves[1]["random"])
        for half in halves:
            assert half["started_at"] == whole["started_at"]
            # Adam makes much of the last digits of a gradient that is near 0.
            for key in ("gradients", "centroids"):
                torch.testing.assert_close(half[key], whole[key], atol=1e-8, rtol=1e-6)
        for key in ("gradients", "centroids"):
            torch.testing.assert_close(halves[1][key], halves[0][key], atol=0, rtol=0)
    assert any(float(gradient.abs().max()) > 0.1 for gradient in one[-1]["gradients"].values())
