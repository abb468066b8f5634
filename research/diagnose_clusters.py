"""What ClusterNS's clusters are worth, on sentences whose classes are known: DBpedia's.

    python research/diagnose_clusters.py

Trains from minibert in the lab's small budget, once for each setting below, and looks at labelled sentences
that it does not train on, in batches as in training: do clusters follow the classes, are false negatives of
one class, is the second nearest centroid hard, and does it count? Needs CLUSTERNS_DATA. A setting that is on
record, from the same base, is left alone: `results/lab/clusters-of-dbpedia.json`, which `clusterns lab report` reads.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is imported

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from torch import Tensor
from transformers import TrainerCallback

from clusterns.encoder.locate import identity_of_base
from clusterns.evaluation.catalog import EvaluationData
from clusterns.evaluation.clustering import adjusted_mutual_information
from clusterns.files import read_json, write_json
from clusterns.lab.experiment import BUDGETS
from clusterns.losses.clusterns import Clustering
from clusterns.losses.functional import cosine_matrix
from clusterns.record import make_record
from clusterns.training.build import build_collator, build_loss, build_model, training_rows
from clusterns.training.recipe import Recipe, load_recipe
from clusterns.training.trainer import ContrastiveTrainer

RECORD = Path(__file__).parents[1] / "results" / "lab" / "clusters-of-dbpedia.json"
LOOK_EVERY, LABELLED, SEED = 25, 2048, 1
SMALL = BUDGETS["small"]
CROPS = {**SMALL, "method": "clusterns", "positives": "crop", "dropout": 0.0, "seed": SEED}
SETTINGS: dict[str, dict[str, Any]] = {
    "as it is (K = 32, gamma = 0.001)": {},
    "gamma = 0.1": {"momentum": 0.1},
    "first centroids from the corpus": {"initialization": "corpus"},
    "batches of 256, K = 128": {"batch_size": 256, "clusters": 128, "max_steps": 50},
}


def look(
    anchors: Tensor, classes: Tensor, part: Clustering, temperature: float
) -> dict[str, float]:
    """What the centroids say of one batch, against the classes of its sentences."""
    similarities, nearest, second = part.neighbors(anchors)
    hard, cluster = part.roles(nearest, second)
    others = ~torch.eye(len(anchors), dtype=torch.bool)
    same_class = (classes[:, None] == classes) & others
    false_negatives = (cluster[:, None] == cluster) & others
    true = float((same_class & false_negatives).sum())
    cosines = cosine_matrix(anchors, anchors)
    negatives = others & ~same_class
    # What the denominators consist of, without the positives: the batch, and every sample's centroid.
    batch = (cosines / temperature).exp().masked_fill(~others, 0).sum(1)
    centroids = (similarities[:, hard] / temperature).exp().sum(1)
    return {
        "ami": 100 * adjusted_mutual_information(classes.numpy(), cluster.numpy()),
        "same_class": 100 * float(same_class.sum() / others.sum()),
        "found": 100 * float(false_negatives.any(1).float().mean()),
        "precision": 100 * true / max(1.0, float(false_negatives.sum())),
        "recall": 100 * true / max(1.0, float(same_class.sum())),
        "hard_negative": float(similarities.gather(1, hard[:, None]).mean()),
        "mean_negative": float(cosines[negatives].mean()),
        "hardest_negative": float(cosines.masked_fill(~negatives, -1).amax(1).mean()),
        "share_of_denominator": 100 * float((centroids / (centroids + batch)).mean()),
    }


class Look(TrainerCallback):
    """Every few steps, the mean over all labelled batches."""

    def __init__(self, measure: Callable[[], dict[str, float] | None]) -> None:
        self.measure, self.seen = measure, {}

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step % LOOK_EVERY == 0 and (found := self.measure()):
            self.seen[state.global_step] = found


def diagnose(
    recipe: Recipe, texts: list[str], labelled: tuple[list[str], Tensor]
) -> dict[str, Any]:
    """Train, and return the looks by step."""
    model = build_model(recipe)
    loss = build_loss(recipe, model, texts)
    part = next(each for each in loss.parts.values() if isinstance(each, Clustering))
    sentences, classes = labelled

    def measure() -> dict[str, float] | None:
        if part.started_at is None:
            return None
        vectors = embedded(model, sentences, recipe.max_length)
        looks = [
            look(rows, own, part, recipe.temperature)
            for rows, own in zip(
                vectors.split(recipe.batch_size), classes.split(recipe.batch_size), strict=True
            )
        ]
        return {name: round(float(np.mean([one[name] for one in looks])), 4) for name in looks[0]}

    callback = Look(measure)
    with tempfile.TemporaryDirectory() as folder:
        ContrastiveTrainer(
            model=model,
            args=SentenceTransformerTrainingArguments(
                folder, max_steps=recipe.max_steps, learning_rate=recipe.learning_rate,
                per_device_train_batch_size=recipe.batch_size, seed=recipe.seed,
                dataloader_drop_last=True, save_strategy="no", report_to=[],
            ),
            train_dataset=training_rows(recipe, Dataset.from_dict({"text": texts})),
            loss=loss,
            data_collator=build_collator(recipe, model),
            callbacks=[callback],
        ).train()  # fmt: skip
    return {"started_at": part.started_at, "looks": callback.seen}


def embedded(model: SentenceTransformer, sentences: list[str], length: int) -> Tensor:
    """Without dropout, as many tokens as in training."""
    whole, model.max_seq_length = model.max_seq_length, length
    was_training = model.training
    vectors = model.encode(sentences, convert_to_tensor=True, show_progress_bar=False).cpu().clone()
    model.max_seq_length = whole
    model.train(was_training)
    return vectors


def main() -> None:
    torch.set_num_threads(1)
    corpus = EvaluationData().find("DBpedia")
    order = np.random.default_rng(SEED).permutation(len(corpus.texts))
    known, rest = order[:LABELLED], order[LABELLED:]
    labelled = ([corpus.texts[i] for i in known], torch.tensor([corpus.labels[i] for i in known]))
    texts = [corpus.texts[i] for i in rest]
    base = identity_of_base(SMALL["base"])
    record = read_json(RECORD) if RECORD.exists() else {}
    if record.get("base") != base:
        record = {"base": base, "settings": {}}
    for name, changes in SETTINGS.items():
        if name in record["settings"]:
            continue
        recipe = load_recipe("default", {**CROPS, **changes})
        record["settings"][name] = {"changes": changes, **diagnose(recipe, texts, labelled)}
        record |= {
            "command": "python research/diagnose_clusters.py",
            "seed": SEED,
            "versions": make_record()["versions"],
        }
        write_json(RECORD, record)
        print(name, json.dumps(record["settings"][name]), flush=True)


if __name__ == "__main__":
    main()
