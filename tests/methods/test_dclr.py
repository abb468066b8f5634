"""DCLR without a guide of the user's: a short SimCSE run makes one, once."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from clusterns.encoder import short_training
from clusterns.encoder.speed import has_dropout
from clusterns.errors import UserError
from clusterns.losses import distributed
from clusterns.losses.dclr import Guide, load_guide
from clusterns.training.build import build_collator, build_loss, build_model
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import load_recipe
from clusterns.training.run import train
from tests.helpers.models import Scripted, short_texts


def recipe(base: Path, **changes: Any) -> Any:
    values = {"method": "dclr", "base": str(base), "batch_size": 8, "max_steps": 2,
              "eval_steps": 2, "guide_steps": 2, "learning_rate": 1e-3, "patience": 0}  # fmt: skip
    return load_recipe("default", {**values, **changes})


def run(folder: Path, chosen: Any) -> Path:
    rows = Dataset.from_dict({"text": short_texts(40)})
    train(chosen, rows, Scripted([0.1, 0.2]), RunFolder(folder), quiet=True)
    return folder


def test_the_guide_learns_from_the_whole_corpus_with_dropout(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    dropouts: list[bool] = []
    original = short_training.SentenceTransformerTrainer

    class Watched(original):  # type: ignore[misc, valid-type]
        def __init__(self, model: Any, args: Any, train_dataset: Any, **rest: Any) -> None:
            seen.extend(train_dataset["text"])
            dropouts.append(has_dropout(model))
            super().__init__(model, args, train_dataset=train_dataset, **rest)

    monkeypatch.setattr(short_training, "SentenceTransformerTrainer", Watched)
    run(tmp_path / "run", recipe(tiny_bert, positives="crop", dropout=0.0))
    first = short_texts(40)[: len(seen)]
    assert len(set(seen)) == 16
    assert not set(seen) <= set(first)
    assert dropouts == [True]


def test_the_guide_is_made_quietly_and_that_of_an_earlier_run_in_its_place_is_forgotten(
    tiny_bert: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    guide = run(tmp_path / "run", recipe(tiny_bert)) / "fit" / "judge"
    assert capfd.readouterr().out == ""
    opened = SentenceTransformer(str(guide))
    assert [type(module).__name__ for module in opened] == ["Transformer", "Pooling"]
    first = load_file(guide / "model.safetensors")
    shutil.rmtree(tmp_path / "run")
    run(tmp_path / "run", recipe(tiny_bert, seed=7, precision="bf16"))
    second = load_file(guide / "model.safetensors")
    assert any(not torch.equal(first[key], value) for key, value in second.items())
    asked = dict(load_guide(str(guide))[0].model.named_parameters())
    assert all(torch.equal(asked[key], value) for key, value in second.items() if key in asked)


def test_several_processes_without_a_guide_are_refused_before_anything_is_written(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = recipe(tiny_bert)
    model = build_model(chosen)
    monkeypatch.setattr(distributed, "get_world_size", lambda: 2)
    with pytest.raises(UserError, match="pass its run with --set guide=DIR"):
        build_loss(chosen, model, short_texts(8))


def test_a_named_guide_reads_sentences_in_a_column_of_its_own(tiny_bert: Path) -> None:
    chosen = recipe(tiny_bert, guide=str(tiny_bert), positives="crop", dropout=0)
    model = build_model(chosen)
    loss, collator = build_loss(chosen, model, short_texts(8)), build_collator(chosen, model)
    assert (loss.views, loss.auxiliary_columns) == (2, 1)
    (part,) = (part for part in loss.parts.values() if isinstance(part, Guide))
    assert part.guide is load_guide(str(tiny_bert))
    batch = collator([{"text": text} for text in short_texts(8)])
    whole = part.guide.preprocess(short_texts(8), max_length=chosen.max_length)
    assert torch.equal(batch["view3_input_ids"], whole["input_ids"])
    assert not any("guide" in key for key in loss.state_dict())
