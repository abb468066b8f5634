"""What clustering costs on top of SimCSE.

    CLUSTERNS_DATA=... python -m benchmarks clustering

The loss alone, forward and backward, on random embeddings of the given size, as SimCSE and as
ClusterNS with clustering under way; the difference is what clustering costs in a step. It is
compared with a whole SimCSE step of an encoder of that width on the same machine: measured for
minibert, and for 12 layers of 768 measured with 32 sentences and scaled to N, since the encoder's
time grows in proportion.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from torch import Tensor

from benchmarks.harness import alternate, description, wikipedia
from benchmarks.training import SHAPES, batches, ours, random_encoder
from clusterns.encoder.load import load_tokenizer
from clusterns.losses.clusterns import ClusterNSLoss
from clusterns.losses.contrastive import ContrastiveLoss

# Encoder, N, K, sentences of the measured step.
CASES = (
    ("minibert", 256, 128, 256),
    ("minibert", 64, 32, 64),
    ("12 x 768", 256, 128, 32),
    ("12 x 768", 512, 256, 32),
)
WIDTHS = {"minibert": 256, "12 x 768": 768}
REPEATS = 20  # of a loss, in one turn


def loss_times(n: int, clusters: int, width: int) -> dict[str, float]:
    """Median seconds of the loss alone, forward and backward."""
    backend = load_tokenizer("minibert").backend_tokenizer
    model = SentenceTransformer(modules=[StaticEmbedding(backend, embedding_dim=width)])
    torch.manual_seed(0)
    anchors = torch.randn(n, width)
    rows = torch.cat([anchors, anchors + 0.3 * torch.randn(n, width)]).requires_grad_()
    losses = {
        "simcse": ContrastiveLoss(model),
        "clusterns": ClusterNSLoss(model, clusters=clusters, start_step=1),
    }

    def work(loss: ContrastiveLoss) -> Tensor:
        for _ in range(REPEATS):
            loss.calculate_loss([[rows]]).backward()
        return rows

    times = alternate({name: lambda loss=loss: work(loss) for name, loss in losses.items()}, 9)
    return {name: found["seconds"] / REPEATS for name, found in times.items()}


def step_seconds(base: str, batch: int) -> float:
    """Median seconds of a SimCSE step of ours."""
    contender, feed = ours("simcse", base, batch, "cls"), batches(wikipedia(4 * batch), batch)
    return alternate({"step": lambda: contender.step(next(feed))}, 3)["step"]["seconds"]


def run() -> dict[str, Any]:
    """Measure every case."""
    cases, steps = [], {}
    with tempfile.TemporaryDirectory() as folder:
        bases = {"minibert": "minibert"}
        bases["12 x 768"] = random_encoder(Path(folder) / "large", *SHAPES["12 x 768"])
        for name, n, clusters, measured in CASES:
            if (name, measured) not in steps:
                steps[name, measured] = step_seconds(bases[name], measured)
            found = loss_times(n, clusters, WIDTHS[name])
            step = steps[name, measured] * n / measured
            cases.append(
                {
                    "encoder": name,
                    "n": n,
                    "clusters": clusters,
                    "simcse_loss_seconds": found["simcse"],
                    "clusterns_loss_seconds": found["clusterns"],
                    "step_seconds": step,
                    "cost": (found["clusterns"] - found["simcse"]) / step,
                }
            )
    return {"cases": cases}


def markdown(record: dict[str, Any]) -> str:
    """The table."""
    lines = [
        "## What clustering costs",
        "",
        description(__doc__),
        "",
        "| encoder | N | K | SimCSE's loss, ms | ClusterNS's loss, ms | a SimCSE step, s | cost |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for case in record["cases"]:
        lines.append(
            f"| {case['encoder']} | {case['n']} | {case['clusters']} "
            f"| {1000 * case['simcse_loss_seconds']:.2f} "
            f"| {1000 * case['clusterns_loss_seconds']:.2f} | {case['step_seconds']:.2f} "
            f"| **{case['cost']:.2%}** |"
        )
    return "\n".join(lines) + "\n"
