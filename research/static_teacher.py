"""Does an encoder that learns from static embeddings beat them?

    CLUSTERNS_DATA=... PYTHONPATH=src:. python research/static_teacher.py STATIC_MODEL minibert-raw --steps 200

Contrastive training (InfoNCE, dropout positives) plus the KL divergence from the teacher's in-batch similarities
to the encoder's: of each sentence, the softmax over the other sentences of the batch. With --sts, the seven STS
sets are scored at the end: the encoder, the teacher, and both side by side. Each run adds a line to
results/teacher/teacher.jsonl.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.harness import wikipedia
from sentence_transformers import SentenceTransformer
from torch import Tensor

from clusterns.encoder.load import load_base
from clusterns.encoder.speed import use_fast_dropout
from clusterns.evaluation.catalog import EvaluationData
from clusterns.evaluation.sts import cosines_of, spearman
from clusterns.losses.functional import cosine_matrix, info_nce
from clusterns.record import make_record
from clusterns.vectors.embed import Embedder

RECORD = Path(__file__).parents[1] / "results" / "teacher" / "teacher.jsonl"
SETS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
LINES = 200_000
MAX_TOKENS = 32
TEMPERATURE = 0.05


class Beside:
    """Two models side by side: unit vectors, half and half."""

    def __init__(self, *models: SentenceTransformer) -> None:
        self.models = models

    def encode(self, inputs: list[str], **options: Any) -> np.ndarray:
        """Return one vector per text."""
        found = [
            model.encode(inputs, normalize_embeddings=True, **options) for model in self.models
        ]
        return np.hstack(found)


def divergence(teacher: Tensor, student: Tensor, temperature: float) -> Tensor:
    """Mean KL divergence (scalar) between softmax distributions over the other sentences, (n, n) each."""
    own = torch.eye(len(teacher), dtype=torch.bool)
    target = (teacher / temperature).masked_fill(own, -torch.inf).log_softmax(1)
    found = (student / TEMPERATURE).masked_fill(own, -torch.inf).log_softmax(1)
    cells = target.exp() * (target - found).masked_fill(own, 0)
    return cells.sum(1).mean()


def train(
    model: SentenceTransformer, teacher: SentenceTransformer, options: argparse.Namespace
) -> list[list[float]]:
    """Train ``model`` in place; returns [step, STS-B dev] of each validation."""
    random = np.random.default_rng(options.seed)
    torch.manual_seed(options.seed)
    texts = [text for text in wikipedia(LINES) if len(text.split()) >= 6]
    dev = EvaluationData().pairs("STS-B dev")
    optimizer = torch.optim.AdamW(model.parameters(), options.rate, weight_decay=0.0)
    curve = []
    for step in range(1, options.steps + 1):
        chosen = [texts[row] for row in random.integers(0, len(texts), options.batch)]
        rows = model.preprocess(chosen, processing_kwargs={"text": {"max_length": MAX_TOKENS}})
        for group in optimizer.param_groups:
            group["lr"] = options.rate * (1 - (step - 1) / options.steps)
        model.train()
        first, second = (model(dict(rows))["sentence_embedding"] for _ in range(2))
        similarities = cosine_matrix(first, second)
        loss = (
            options.contrast * info_nce(similarities, torch.arange(len(chosen)), TEMPERATURE).mean()
        )
        if options.weight:
            vectors = torch.as_tensor(teacher.encode(chosen))
            loss = loss + options.weight * divergence(
                vectors @ vectors.T, similarities, options.temperature
            )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % options.validate == 0 or step == options.steps:
            score = 100 * spearman(cosines_of(Embedder(model.eval()), dev), dev.scores)
            curve.append([step, round(score, 2)])
            print(step, round(loss.item(), 3), round(score, 2), flush=True)
    return curve


def scores(embed: Embedder) -> dict[str, float]:
    """Spearman x 100 on the seven sets, and their mean."""
    data = EvaluationData()
    found = {}
    for name in SETS:
        pairs = data.pairs(name)
        found[name] = 100 * spearman(cosines_of(embed, pairs), pairs.scores)
    return {**found, "Avg.": float(np.mean(list(found.values())))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("teacher")
    parser.add_argument("base")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--weight", type=float, default=1.0)
    parser.add_argument("--contrast", type=float, default=1.0)
    parser.add_argument("--temperature", type=float, default=0.05)
    parser.add_argument("--validate", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sts", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    began = time.process_time()
    teacher = SentenceTransformer(options.teacher, device="cpu")
    model = load_base(options.base)
    use_fast_dropout(model)
    curve = train(model, teacher, options)
    found = {"curve": curve, "processor_seconds": round(time.process_time() - began)}
    if options.sts:
        found["encoder"] = scores(Embedder(model))
        found["teacher"] = scores(Embedder(teacher))
        found["side by side"] = scores(Embedder(Beside(model, teacher)))
    about = {**vars(options), "teacher": Path(options.teacher).name}
    print(
        {name: each["Avg."] for name, each in found.items() if isinstance(each, dict)}, flush=True
    )
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    with RECORD.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"options": about, **found, **make_record()}) + "\n")


if __name__ == "__main__":
    main()
