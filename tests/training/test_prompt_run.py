"""Prompt-based runs: PromptBERT and prompt-based ClusterNS, through the same door as all others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer

from clusterns.encoder.prompt import prompt_encoder
from clusterns.errors import UserError
from clusterns.training.folder import RunFolder, read_metrics
from clusterns.training.recipe import Recipe, load_recipe
from clusterns.training.run import train
from tests.helpers.models import Scripted


def recipe(base: Path, **changes) -> Recipe:
    values = {
        "base": str(base), "template": "bert", "batch_size": 16, "max_steps": 26, "eval_steps": 13,
        "log_steps": 1, "learning_rate": 1e-3, "patience": 0,
    }  # fmt: skip
    return load_recipe("default", {**values, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "simcse", "denoising": "none"},
        {"clusters": 4, "start_step": 2, "masked_lm_weight": 0.1, "gradient_cache": True,
         "mini_batch_size": 8, "positives": "crop"},
    ],
)  # fmt: skip
def test_a_prompt_run_learns_and_leaves_a_model_of_built_in_modules(
    tiny_bert: Path, rows: Dataset, tmp_path: Path, changes: dict[str, object]
) -> None:
    chosen = recipe(tiny_bert, **changes)
    folder = RunFolder(tmp_path / "run")
    result = train(chosen, rows, Scripted([0.1, 0.2, 0.3]), folder, quiet=True)
    assert (result.best_step, result.steps) == (26, 26)
    losses = [x["contrastive_loss"] for x in read_metrics(folder.metrics_file) if "loss" in x]
    # From step 3 on, when both of them cluster.
    assert np.mean(losses[-8:]) < np.mean(losses[2:10])
    assert load_recipe(str(folder.recipe_file)) == chosen

    opened = SentenceTransformer(str(folder.model))
    assert [type(m).__name__ for m in opened] == ["Transformer", "MultiVectorMask", "Pooling"]
    untuned = prompt_encoder(str(tiny_bert), "bert")
    assert opened.max_seq_length == untuned.max_seq_length
    text = "opera [MASK] court"
    assert opened.tokenizer(text)["input_ids"] == untuned.tokenizer(text)["input_ids"]
    assert not np.allclose(opened.encode(text), untuned.encode(text), atol=1e-3)
    kind = "PromptBERT" if changes.get("method") else "prompt-based ClusterNS"
    assert kind in (folder.model / "README.md").read_text("utf-8")


def test_a_template_replaces_the_pooling_and_refuses_another(tiny_bert: Path) -> None:
    assert recipe(tiny_bert, clusters=4).pooling == "auto"
    with pytest.raises(UserError, match="pooling = cls does not go with a template"):
        recipe(tiny_bert, clusters=4, pooling="cls")
    with pytest.raises(UserError, match="exactly once"):
        recipe(tiny_bert, clusters=4, template="no slots")
