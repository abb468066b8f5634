"""Runs that train the last layers only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from clusterns.encoder.load import load_base
from clusterns.errors import UserError
from clusterns.training.folder import RunFolder
from clusterns.training.run import train
from clusterns.training.trainer import ContrastiveTrainer
from tests.helpers.models import Scripted, short_texts, small_recipe

SCORES = [0.1, 0.2, 0.3]


class Killed(Exception):  # noqa: N818 - not an error
    """Stands for a kill."""


def run(folder: Path, base: Path, resume: bool = False, **changes: Any) -> dict[str, torch.Tensor]:
    """The weights after the last step."""
    chosen = small_recipe(
        base, **{"method": "simcse", "pooling": "auto", "train_layers": 1, **changes}
    )
    rows = Dataset.from_dict({"text": short_texts(60)})
    train(chosen, rows, Scripted(SCORES), RunFolder(folder), quiet=True, resume=resume)
    return load_file(folder / "checkpoints" / "checkpoint-4" / "model.safetensors")


def test_the_frozen_part_stays_and_the_model_is_a_plain_one(
    tiny_bert: Path, tmp_path: Path
) -> None:
    trained = run(tmp_path / "run", tiny_bert)
    start = load_base(str(tiny_bert))[0].model.state_dict()
    moved = {key for key in trained if not torch.equal(trained[key], start[key])}
    moved -= {key for key in moved if key.startswith("pooler.")}  # the base has none: drawn anew
    assert moved
    assert all(key.startswith("encoder.layer.1.") for key in moved)
    opened = SentenceTransformer(str(tmp_path / "run" / "model"))
    assert [type(module).__name__ for module in opened] == ["Transformer", "Pooling"]
    assert all(p.requires_grad for p in opened.parameters())
    assert opened[0].model.config.hidden_dropout_prob == 0.1


def test_gradient_caching_gives_the_same_weights(tiny_bert: Path, tmp_path: Path) -> None:
    plain = run(tmp_path / "plain", tiny_bert, positives="crop", dropout=0)
    cached = run(
        tmp_path / "cached", tiny_bert, positives="crop", dropout=0,
        gradient_cache=True, mini_batch_size=3,
    )  # fmt: skip
    for key, value in plain.items():
        # A bias of the keys changes no attention: its gradient is rounding, which Adam makes large.
        if not key.endswith("key.bias"):
            torch.testing.assert_close(cached[key], value, rtol=1e-4, atol=1e-6)


def test_killed_and_resumed_equals_never_killed(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(tmp_path / "whole", tiny_bert)
    step = ContrastiveTrainer.training_step

    def killed_in_step_4(self: ContrastiveTrainer, *args: Any, **kwargs: Any) -> Any:
        if self.state.global_step == 3:
            raise Killed
        return step(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(ContrastiveTrainer, "training_step", killed_in_step_4)
        with pytest.raises(Killed):
            run(tmp_path / "killed", tiny_bert)
    resumed = run(tmp_path / "killed", tiny_bert, resume=True)
    assert all(torch.equal(whole[key], resumed[key]) for key in whole)


def test_more_layers_than_there_are_is_refused_before_anything_is_written(
    tiny_bert: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="more than the 2 layers"):
        run(tmp_path / "run", tiny_bert, train_layers=5)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("scores", [SCORES, [0.3, 0.2, 0.1]], ids=["trained", "the base"])
def test_a_cut_of_the_vectors_survives(
    tiny_bert: Path, tmp_path: Path, scores: list[float]
) -> None:
    base = load_base(str(tiny_bert))
    base.truncate_dim = 16
    base.prompts = {"query": "find: ", "document": "", "plain": "a text: "}
    base.default_prompt_name = "plain"
    base.save_pretrained(str(tmp_path / "base"))
    chosen = small_recipe(tmp_path / "base", method="simcse", pooling="auto")
    rows = Dataset.from_dict({"text": short_texts(60)})
    train(chosen, rows, Scripted(scores), RunFolder(tmp_path / "run"), quiet=True)
    opened = SentenceTransformer(str(tmp_path / "run" / "model"))
    assert opened.truncate_dim == 16
    assert opened.encode(["a river"]).shape == (1, 16)
    assert opened.prompts == base.prompts
    assert opened.default_prompt_name == "plain"
