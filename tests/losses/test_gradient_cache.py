"""Gradient caching changes the memory of a step and nothing else."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.losses import RandContext
from torch import Tensor
from transformers import AutoTokenizer

from clusterns.encoder.denoising import add_denoising
from clusterns.encoder.load import load_base
from clusterns.encoder.prompt import prompt_encoder
from clusterns.encoder.training_modules import add_masked_lm_head, add_training_head
from clusterns.losses.clusterns import ClusterNSLoss
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.masked_lm import MaskedLanguageModelling
from clusterns.views.prompting import TemplatedViews
from clusterns.views.template import template_pair

TEXTS = [
    "a cat sat on the mat", "dogs", "one two", "two dogs", "rain fell on the harbour all day",
    "the river runs through the old town to the sea", "the court heard the appeal",
]  # fmt: skip
CROPS = [" ".join(text.split()[:4]) for text in TEXTS]
STEPS = 3
CHUNK = 4  # of the 14 rows of both views
CLUSTERS = {"clusters": 3, "start_step": 1, "margin_weight": 1.0, "momentum": 0.1}


def plain(base: Path) -> tuple[SentenceTransformer, list[dict[str, Tensor]]]:
    model = load_base(str(base), "mean")
    return model, [model.preprocess(TEXTS)]


def cropped(base: Path) -> tuple[SentenceTransformer, list[dict[str, Tensor]]]:
    model = load_base(str(base), "cls")
    add_training_head(model)
    return model, [model.preprocess(TEXTS), model.preprocess(CROPS)]


def prompted(base: Path) -> tuple[SentenceTransformer, list[dict[str, Tensor]]]:
    pair = template_pair("bert")
    model = prompt_encoder(str(base), pair[0])
    add_training_head(model)
    add_denoising(model, str(base), pair, dropout=True)
    views = TemplatedViews(AutoTokenizer.from_pretrained(base), pair, limit=64)
    return model, [views(TEXTS, template.text, max_length=9) for template in pair]


def with_masked_lm(base: Path) -> tuple[SentenceTransformer, list[dict[str, Tensor]]]:
    model, columns = cropped(base)
    add_masked_lm_head(model, str(base))
    return model, columns


CASES: dict[str, tuple[Any, type[ContrastiveLoss], dict[str, Any]]] = {
    "SimCSE, one column": (plain, ContrastiveLoss, {}),
    "SimCSE, crops and head": (cropped, ContrastiveLoss, {}),
    "ClusterNS, one column": (plain, ClusterNSLoss, CLUSTERS),
    "ClusterNS, crops and head": (cropped, ClusterNSLoss, CLUSTERS),
    "prompts and denoising": (prompted, ClusterNSLoss, CLUSTERS),
    "masked LM": (with_masked_lm, ClusterNSLoss, {**CLUSTERS, "masked_lm_weight": 0.5}),
}


@functools.cache
def steps(case: str, base: Path, *, cached: bool, seed: int = 3) -> dict[str, Any]:
    """Values, gradients and centroids of a few steps with dropout, in double precision."""
    make, kind, settings = CASES[case]
    torch.manual_seed(0)
    model, columns = make(base)
    model.double().train()
    if "masked_lm_weight" in settings:
        settings = {**settings, "masked_lm": MaskedLanguageModelling(model.tokenizer, 0.3)}
    loss = kind(model, mini_batch_size=CHUNK, gradient_cache=cached, **settings).double()
    torch.manual_seed(seed)
    values, gradients = [], []
    for _ in range(STEPS):
        model.zero_grad()
        value = loss([dict(column) for column in columns])
        (2.5 * value).backward()  # scaled, as half precision does
        values.append(value.item())
        gradients.append({n: p.grad for n, p in model.named_parameters() if p.grad is not None})
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter -= 0.01 * parameter.grad
                    parameter.grad = None
    state = {key: value.clone() for key, value in loss.state_dict().items() if "Clustering" in key}
    return {"values": values, "gradients": gradients, "centroids": state, "parts": loss.components}


def largest_difference(a: dict[str, Any], b: dict[str, Any]) -> float:
    return max(
        float((ours[name] - theirs[name]).abs().max())
        for ours, theirs in zip(a["gradients"], b["gradients"], strict=True)
        for name in ours
    )


@pytest.mark.parametrize("case", CASES)
def test_gradients_equal_the_uncached_ones_with_dropout_on(case: str, tiny_bert: Path) -> None:
    whole, cached = steps(case, tiny_bert, cached=False), steps(case, tiny_bert, cached=True)
    assert cached["values"] == pytest.approx(whole["values"], abs=1e-12)
    assert {n: v.item() for n, v in cached["parts"].items()} == pytest.approx(
        {n: v.item() for n, v in whole["parts"].items()}, abs=1e-12
    )
    for ours, theirs in zip(cached["gradients"], whole["gradients"], strict=True):
        assert ours.keys() == theirs.keys()
        assert any("0.model" in name and g.abs().max() > 1e-4 for name, g in theirs.items())
        torch.testing.assert_close(ours, theirs, atol=1e-10, rtol=1e-8)
    if CASES[case][1] is ClusterNSLoss:  # centroids move once a step
        assert cached["centroids"]["parts.Clustering._extra_state"].tolist() == [STEPS, 1]
        torch.testing.assert_close(cached["centroids"], whole["centroids"], atol=1e-12, rtol=1e-12)
        assert cached["centroids"]["parts.Clustering.centroids"].abs().max() > 1e-3
    # Each step drew new dropout masks, and they matter.
    assert largest_difference(whole, steps(case, tiny_bert, cached=False, seed=4)) > 1e-4


def test_without_the_replay_the_gradients_would_be_wrong(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = steps("ClusterNS, crops and head", tiny_bert, cached=False)
    monkeypatch.setattr(RandContext, "__enter__", lambda self: None)
    monkeypatch.setattr(RandContext, "__exit__", lambda self, *error: None)
    unreplayed = steps.__wrapped__("ClusterNS, crops and head", tiny_bert, cached=True)
    assert unreplayed["values"][0] == whole["values"][0]
    assert largest_difference(whole, unreplayed) > 1e-4


@pytest.mark.parametrize("cached", [False, True])
def test_the_cache_keeps_no_activations(cached: bool, tiny_bert: Path) -> None:
    model, columns = with_masked_lm(tiny_bert)
    model.train()
    loss = ContrastiveLoss(
        model, mini_batch_size=CHUNK, gradient_cache=cached,
        masked_lm=MaskedLanguageModelling(model.tokenizer, 0.3),
    )  # fmt: skip
    kept = 0

    def keep(tensor: Tensor) -> Tensor:
        nonlocal kept
        kept += tensor.numel()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        value = loss([dict(column) for column in columns])
    assert value.requires_grad
    rows, width = len(TEXTS), 32
    assert (kept < 20 * rows * width) if cached else (kept > 200 * rows * width)
