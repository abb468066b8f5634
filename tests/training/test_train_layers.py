"""Runs that train the last layers only, and what a run keeps of its base."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from clusterns.encoder.load import load_base
from clusterns.errors import UserError
from tests.training.conftest import RunIt

SCORES = [0.1, 0.2, 0.3]
SMALL = {"method": "simcse", "pooling": "auto", "max_steps": 4}


def test_gradient_caching_gives_the_same_weights(run: RunIt) -> None:
    weights = []
    for name, cached in (("plain", {}), ("cached", {"gradient_cache": True, "mini_batch_size": 3})):
        changes = {**SMALL, "train_layers": 1, "positives": "crop", "dropout": 0, **cached}
        _, folder = run(SCORES, name=name, **changes)
        weights.append(load_file(folder.checkpoints / "checkpoint-4" / "model.safetensors"))
    for key, value in weights[0].items():
        # A bias of the keys changes no attention: its gradient is rounding, which Adam makes large.
        if not key.endswith("key.bias"):
            torch.testing.assert_close(weights[1][key], value, rtol=1e-4, atol=1e-6)


def test_more_layers_than_there_are_is_refused_before_anything_is_written(
    run: RunIt, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="exceeds the 2 layers"):
        run(SCORES, train_layers=5, **SMALL)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("scores", [SCORES, [0.3, 0.2, 0.1]], ids=["trained", "the base"])
def test_frozen_layers_truncation_and_prompts_of_the_base_survive(
    tiny_bert: Path, run: RunIt, tmp_path: Path, scores: list[float]
) -> None:
    base = load_base(str(tiny_bert))
    base.truncate_dim = 16
    base.prompts = {"query": "find: ", "document": "", "plain": "a text: "}
    base.default_prompt_name = "plain"
    base.save_pretrained(str(tmp_path / "base"))
    _, folder = run(scores, train_layers=1, **SMALL, base=str(tmp_path / "base"))
    opened = SentenceTransformer(str(folder.model))
    assert opened.truncate_dim == 16
    assert opened.encode(["a river"]).shape == (1, 16)
    assert opened.prompts == base.prompts
    assert opened.default_prompt_name == "plain"
    assert "| `query` | `find: ` |" in (folder.model / "README.md").read_text()
    assert [type(module).__name__ for module in opened] == ["Transformer", "Pooling"]
    assert all(p.requires_grad for p in opened.parameters())
    assert opened[0].model.config.hidden_dropout_prob == 0.1
    trained, start = opened[0].model.state_dict(), base[0].model.state_dict()
    moved = {key for key in trained if not torch.equal(trained[key], start[key])}
    assert bool(moved) is (scores == SCORES)
    assert all(key.startswith("encoder.layer.1.") for key in moved)
