"""A run in four lines."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from sentence_transformers.base.evaluation import BaseEvaluator

from clusterns.training.folder import RunFolder, RunResult
from clusterns.training.recipe import Recipe, load_recipe
from clusterns.training.run import train
from tests.helpers.models import Scripted

TOPICS = {
    "music": ["song", "guitar", "opera", "chorus", "violin", "melody", "concert", "rhythm"],
    "space": ["planet", "orbit", "comet", "telescope", "galaxy", "rocket", "moon", "crater"],
    "law": ["court", "judge", "appeal", "verdict", "statute", "counsel", "trial", "jury"],
}
RunIt = Callable[..., tuple[RunResult, RunFolder]]


@pytest.fixture(scope="session")
def rows() -> Dataset:
    generator = random.Random(0)
    words = list(TOPICS.values())
    texts = [" ".join(generator.choices(generator.choice(words), k=8)) for _ in range(160)]
    return Dataset.from_dict({"text": texts, "name": ["x"] * len(texts)})


@pytest.fixture
def recipe(tiny_bert: Path) -> Callable[..., Recipe]:
    """A recipe of eight steps that clusters from the second one on."""

    def make(**changes: Any) -> Recipe:
        values = {
            "base": str(tiny_bert), "batch_size": 16, "clusters": 4, "start_step": 2, "max_steps": 8,
            "eval_steps": 2, "log_steps": 1, "learning_rate": 1e-3, "pooling": "cls", "patience": 0,
            "dev": "label-free",
        }  # fmt: skip
        if changes.get("method", "clusterns") != "clusterns":
            del values["clusters"], values["start_step"]
        return load_recipe("default", {**values, **changes})

    return make


@pytest.fixture
def run(recipe: Callable[..., Recipe], rows: Dataset, tmp_path: Path) -> RunIt:
    """``run(scores, **changes)`` trains in ``tmp_path / "run"`` with these validation scores."""

    def train_it(
        scores: Sequence[float] | BaseEvaluator, *, name: str = "run", resume: bool = False,
        corpus: dict[str, Any] | None = None, **changes: Any,
    ) -> tuple[RunResult, RunFolder]:  # fmt: skip
        evaluator = scores if isinstance(scores, BaseEvaluator) else Scripted(list(scores))
        folder, chosen = RunFolder(tmp_path / name), recipe(**changes)
        result = train(chosen, rows, evaluator, folder, resume=resume, corpus=corpus, quiet=True)
        return result, folder

    return train_it
