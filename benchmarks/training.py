"""Sentences a second in training: ours, Sentence Transformers, and a version with broadcast cosines.

    CLUSTERNS_DATA=... python -m benchmarks training

A step is what the trainer does: tokenise, forward, backward, clip, AdamW. Sentence Transformers
is in its usual set-up for SimCSE: MultipleNegativesRankingLoss, each sentence paired with itself.
Real Wikipedia sentences, at most 32 tokens; dropout 0.1. The contenders take turns in one process
and see the same sentences; with dropout off their losses are the same, which is checked first.

"Of the limit" is the share of a large matrix product's operations a second (same process, same
threads) that the step reaches, counting useful operations only: real tokens, no padding, and in
the last layer no position that the pooling does not read.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.data_collator import (
    SentenceTransformerDataCollator,
)
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from benchmarks.broadcast import BroadcastClusterNS
from benchmarks.harness import alternate, description, wikipedia
from clusterns.encoder.load import load_base, load_tokenizer
from clusterns.encoder.speed import set_dropout
from clusterns.losses.features import columns_of
from clusterns.training.build import build_collator, build_loss, build_model
from clusterns.training.recipe import Recipe, load_recipe

LENGTH = 32
ST, BROADCAST = "Sentence Transformers", "broadcast cosines"
SIMCSE, CLUSTERNS = "clusterns, SimCSE", "clusterns, ClusterNS"
# Width, layers, heads; minibert is 4 layers of 256.
SHAPES = {"6 x 384": (384, 6, 12), "12 x 768": (768, 12, 12)}
CASES = (
    ("minibert", 64, "cls", 15),
    ("minibert", 256, "cls", 5),
    ("minibert", 64, "mean", 15),
    ("minibert", 256, "mean", 5),
    ("6 x 384", 64, "cls", 5),
    ("12 x 768", 64, "cls", 3),
)


class Contender:
    """A way to train: its own copy of the model, its own optimizer."""

    def __init__(
        self,
        model: SentenceTransformer,
        features_of: Callable[[list[str]], list[Any]],
        loss: Callable[[list[Any]], Tensor],
    ) -> None:
        self.model, self.features_of, self.loss = model.train(), features_of, loss
        self.optimizer = torch.optim.AdamW(model.parameters(), 1e-5, fused=True)

    def value(self, texts: list[str]) -> Tensor:
        return self.loss(self.features_of(texts))

    def step(self, texts: list[str]) -> None:
        self.value(texts).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()


def recipe_for(method: str, base: str, batch: int, pooling: str) -> Recipe:
    settings: dict[str, Any] = {
        "method": method, "base": base, "batch_size": batch, "pooling": pooling, "head": False,
        "max_length": LENGTH,
    }  # fmt: skip
    if method == "clusterns":
        settings |= {"clusters": batch // 2, "start_step": 1}
    return load_recipe("default", settings)


def ours(method: str, base: str, batch: int, pooling: str) -> Contender:
    return of_recipe(recipe_for(method, base, batch, pooling))


def of_recipe(recipe: Recipe) -> Contender:
    """What `clusterns train` would do."""
    model = build_model(recipe)
    collator, loss = build_collator(recipe, model), build_loss(recipe, model, [])
    return Contender(
        model,
        lambda texts: columns_of(collator([{"text": text} for text in texts]), model.device),
        loss,
    )


def sentence_transformers(model: SentenceTransformer) -> Contender:
    model.max_seq_length = LENGTH
    collator = SentenceTransformerDataCollator(model.preprocess)
    loss = MultipleNegativesRankingLoss(model, scale=20.0)

    def features_of(texts: list[str]) -> list[Any]:
        # The collator adds and reads entries of its own; each row has the sentence twice.
        return columns_of(
            collator([{"anchor": text, "positive": text} for text in texts]), model.device
        )

    return Contender(model, features_of, lambda columns: loss(columns, None))


def broadcast(model: SentenceTransformer, centroids: Tensor) -> Contender:
    model.max_seq_length = LENGTH
    loss = BroadcastClusterNS(model, centroids)
    return Contender(model, model.preprocess, loss)


def contenders(base: str, batch: int, pooling: str, texts: list[str]) -> dict[str, Contender]:
    """All ways, from the same weights; clustering is under way."""
    clustering = ours("clusterns", base, batch, pooling)
    with no_dropout(clustering.model):
        clustering.value(texts[:batch])  # starts the clustering
    plain = load_base(base, pooling)
    return {
        ST: sentence_transformers(plain),
        BROADCAST: broadcast(copy.deepcopy(plain), clustering.loss.parts["Clustering"].centroids),
        SIMCSE: ours("simcse", base, batch, pooling),
        CLUSTERNS: clustering,
    }


class no_dropout:  # noqa: N801 - reads like contextlib's
    """Within the block, the model has no dropout."""

    def __init__(self, model: SentenceTransformer) -> None:
        self.model = model

    def __enter__(self) -> None:
        set_dropout(self.model, 0.0)

    def __exit__(self, *_: object) -> None:
        set_dropout(self.model, 0.1)


def check_same_losses(found: dict[str, Contender], texts: list[str]) -> dict[str, float]:
    """The two SimCSE losses are one number, and the two ClusterNS losses are."""
    losses = {}
    for name, contender in found.items():
        with no_dropout(contender.model):
            losses[name] = contender.value(texts).item()
    for a, b in ((ST, SIMCSE), (BROADCAST, CLUSTERNS)):
        assert abs(losses[a] - losses[b]) < 1e-4, losses
    return losses


def useful_operations(model: SentenceTransformer, lengths: Tensor, pooling: str) -> float:
    """Floating-point operations of a step's matrix products, both views, forward and backward.

    A token costs 2 operations a weight; of a layer's 12 d^2 weights keys and values are 2 d^2.
    Attention is 4 d operations for each pair of tokens. The backward pass is twice the forward.
    """
    config = model[0].model.config
    d, layers = config.hidden_size, config.num_hidden_layers
    tokens, pairs, rows = lengths.sum().item(), lengths.square().sum().item(), len(lengths)
    whole = 24 * d * d * tokens + 4 * d * pairs
    last = 4 * d * d * tokens + 20 * d * d * rows + 4 * d * tokens if pooling == "cls" else whole
    return 2 * 3 * ((layers - 1) * whole + last)


def limit(size: int = 2048, tries: int = 5) -> float:
    """Operations a second of a large matrix product: the best of a few."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    best = alternate({str(i): lambda: a @ b for i in range(tries)}, 3)
    return 2 * size**3 / min(times["seconds"] for times in best.values())


def batches(texts: list[str], size: int) -> Iterator[list[str]]:
    whole = [texts[i : i + size] for i in range(0, len(texts) - size + 1, size)]
    return cycle(whole)


def measure(name: str, base: str, batch: int, pooling: str, rounds: int) -> dict[str, Any]:
    torch.manual_seed(0)
    texts = wikipedia(4 * batch)
    found = contenders(base, batch, pooling, texts)
    losses = check_same_losses(found, texts[:batch])
    feeds = {way: batches(texts, batch) for way in found}
    best = limit()
    times = alternate(
        {way: lambda way=way: found[way].step(next(feeds[way])) for way in found}, rounds
    )
    tokens = found[ST].model.preprocess(texts)["attention_mask"].sum(1)
    operations = useful_operations(found[ST].model, tokens, pooling) * batch / len(tokens)
    return {
        "encoder": name,
        "batch": batch,
        "pooling": pooling,
        "losses": losses,
        "limit": best,
        "operations_a_step": operations,
        "ways": {
            way: {
                **taken,
                "sentences_a_second": batch / taken["seconds"],
                "of_the_limit": operations / taken["seconds"] / best,
            }
            for way, taken in times.items()
        },
    }


def run() -> dict[str, Any]:
    """Measure every case."""
    with tempfile.TemporaryDirectory() as folder:
        bases = {"minibert": "minibert"}
        for name, shape in SHAPES.items():
            bases[name] = random_encoder(Path(folder) / name.replace(" ", ""), *shape)
        return {
            "cases": [
                measure(name, bases[name], batch, pooling, rounds)
                for name, batch, pooling, rounds in CASES
            ]
        }


def random_encoder(folder: Path, width: int, layers: int, heads: int) -> str:
    """A BERT of this shape with random weights and BERT's size of vocabulary."""
    config = BertConfig(
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
    )
    torch.manual_seed(0)
    BertModel(config).save_pretrained(folder)
    load_tokenizer("minibert").save_pretrained(folder)
    return str(folder)


def markdown(record: dict[str, Any]) -> str:
    """The table."""
    lines = [
        "## Training",
        "",
        description(__doc__),
        "",
        "| encoder | batch | pooling | way | sentences a second | against Sentence Transformers "
        "| against broadcast | of the limit |",
        "|---|---:|---|---|---:|---:|---:|---:|",
    ]
    for case in record["cases"]:
        ways = case["ways"]
        for way, found in ways.items():
            ratios = [ways[other]["seconds"] / found["seconds"] for other in (ST, BROADCAST)]
            lines.append(
                f"| {case['encoder']} | {case['batch']} | {case['pooling']} | {way} "
                f"| {found['sentences_a_second']:.1f} | {ratios[0]:.2f} | {ratios[1]:.2f} "
                f"| {found['of_the_limit']:.0%} |"
            )
    return "\n".join([*lines, "", summary(record)]) + "\n"


def summary(record: dict[str, Any]) -> str:
    """How our steps compare, over all rows."""
    found = []
    for other in (ST, BROADCAST):
        ratios = [
            case["ways"][other]["seconds"] / case["ways"][way]["seconds"]
            for case in record["cases"]
            for way in (SIMCSE, CLUSTERNS)
        ]
        found.append(f"{min(ratios):.2f} to {max(ratios):.2f} times as fast as {other}")
    return f"A step of clusterns is {found[0]}, and {found[1]}."
