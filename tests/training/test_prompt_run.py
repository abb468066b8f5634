"""Prompt-based runs: PromptBERT and prompt-based ClusterNS, through the same door as all others."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer

from clusterns.encoder.prompt import prompt_encoder
from clusterns.errors import UserError
from clusterns.training.estimate import estimate
from clusterns.training.folder import RunFolder, read_metrics
from clusterns.training.recipe import Recipe, load_recipe, recipe_names
from clusterns.training.run import train
from tests.helpers.models import Scripted

TOPICS = [
    ["song", "guitar", "opera", "chorus", "violin", "melody", "concert", "rhythm"],
    ["planet", "orbit", "comet", "telescope", "galaxy", "rocket", "moon", "crater"],
    ["court", "judge", "appeal", "verdict", "statute", "counsel", "trial", "jury"],
]


@pytest.fixture(scope="module")
def rows() -> Dataset:
    generator = random.Random(0)
    return Dataset.from_dict(
        {
            "text": [
                " ".join(generator.choices(generator.choice(TOPICS), k=generator.randint(8, 14)))
                for _ in range(200)
            ]
        }
    )


def recipe(base: Path, **changes) -> Recipe:
    values = {
        "base": str(base), "template": "bert", "batch_size": 16, "max_steps": 39, "eval_steps": 13,
        "log_steps": 1, "learning_rate": 1e-3, "patience": 0,
    }  # fmt: skip
    return load_recipe("default", {**values, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "simcse", "denoising": "none"},
        {"clusters": 4, "start_step": 2, "masked_lm_weight": 0.1, "gradient_cache": True,
         "mini_batch_size": 8, "positives": "crop"},
        {"clusters": 4, "start_step": 2, "initialization": "corpus", "initialization_sample": 100},
    ],
)  # fmt: skip
def test_a_prompt_run_learns_and_leaves_a_model_of_built_in_modules(
    tiny_bert: Path, rows: Dataset, tmp_path: Path, changes: dict[str, object]
) -> None:
    chosen = recipe(tiny_bert, **changes)
    folder = RunFolder(tmp_path / "run")
    result = train(chosen, rows, Scripted([0.1, 0.2, 0.3, 0.4]), folder, quiet=True)
    assert (result.best_step, result.steps) == (39, 39)
    losses = [x["contrastive_loss"] for x in read_metrics(folder.metrics_file) if "loss" in x]
    # From step 3 on, when all of them cluster.
    assert np.mean(losses[-10:]) < np.mean(losses[2:12])
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


def test_a_dry_run_can_be_estimated(tiny_bert: Path, rows: Dataset) -> None:
    assert estimate(recipe(tiny_bert, clusters=4), rows).steps == 39


def test_a_template_replaces_the_pooling_and_refuses_another(tiny_bert: Path) -> None:
    assert recipe(tiny_bert, clusters=4).pooling == "auto"
    with pytest.raises(UserError, match="pooling = cls does not go with a template"):
        recipe(tiny_bert, clusters=4, pooling="cls")
    with pytest.raises(UserError, match="exactly once"):
        recipe(tiny_bert, clusters=4, template="no slots")


# The table of the published prompt settings, and PromptBERT's own.
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("promptbert-bert-base", ("promptbert", "bert", 256, 1e-5)),
        ("promptbert-roberta-base", ("promptbert", "roberta", 256, 1e-5)),
        ("clusterns-prompt-bert-base", ("clusterns", "bert", 512, 5e-5, 96, 5e-4, 0.4, "second", 1e-2, 0, 0.2)),
        ("clusterns-prompt-bert-large", ("clusterns", "bert", 256, 3e-5, 96, 1e-4, 0.2, "second", 5e-4, 0.25, 0.3)),
        ("clusterns-prompt-roberta-base", ("clusterns", "roberta", 512, 5e-5, 128, 1e-3, 0.4, "none", 1e-2, 0.2, 0.6)),
    ],
)  # fmt: skip
def test_the_published_recipes_have_the_published_values(
    name: str, expected: tuple[object, ...]
) -> None:
    assert name in recipe_names()
    chosen = load_recipe(name)
    keys = ["method", "template", "batch_size", "learning_rate", "clusters", "momentum", "sigma",
            "hard_negatives", "margin_weight", "alpha", "beta"]  # fmt: skip
    assert tuple(getattr(chosen, key) for key in keys[: len(expected)]) == expected
    assert (chosen.max_length, chosen.epochs, chosen.eval_steps) == (32, 1, 125)
    assert chosen.patience == (3 if chosen.method == "clusterns" else 0)
    assert chosen.method == "promptbert" or chosen.variant == "released"
    assert chosen.denoising == "dropout"
    assert chosen.head is None
