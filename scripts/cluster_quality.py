"""How good are the clusters of ClusterNS? Trained on a text whose classes are known, and asked afterwards.

    CLUSTERNS_DATA=... python scripts/cluster_quality.py runs/clusters

Each setting is one run on DBpedia (14 classes), without its labels; what it clustered is then compared with them: do
clusters follow classes (AMI, beside a K-means over all vectors with as many clusters), are the members of a cluster
in a batch false negatives indeed (of one class, against all pairs), and is the second nearest centroid a hard negative
(more similar than which share of the batch, and of another class)? Records and a table: results/clusters.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sklearn.cluster import KMeans

from clusterns import train
from clusterns.evaluation.scores.clustering import adjusted_mutual_information
from clusterns.losses.centroids import Centroids
from clusterns.record import make_record
from clusterns.training.checkpoints import LOSS_FILE

RESULTS = Path(__file__).parents[1] / "results" / "clusters"
DATA = Path(os.environ.get("CLUSTERNS_DATA", "")) / "dbpedia14" / "test.csv"
STEPS, JUDGED = 125, 2048
SHARED = {
    "method": "clusterns", "recipe": "cpu-small", "max_steps": STEPS, "eval_steps": STEPS, "heldout": 200,
    "base": "minibert",
}  # fmt: skip
SETTINGS: dict[str, dict[str, Any]] = {
    "N 64, K 32, gamma 0.001": {"momentum": 0.001},
    "N 64, K 32, gamma 0.1": {"momentum": 0.1},
    "N 64, K 32, gamma 0.1, from the corpus": {"momentum": 0.1, "initialisation": "corpus"},
    "N 256, K 128, gamma 0.1": {"momentum": 0.1, "batch_size": 256, "clusters": 128, "mini_batch_size": 64},
}  # fmt: skip
COLUMNS = {
    "pairs_of_a_class": "pairs of one class, all",
    "cluster_pairs_of_a_class": "in a cluster",
    "recall": "found of them",
    "ami": "AMI of the clusters",
    "kmeans_ami": "of K-means",
    "harder_than": "hard negative: more similar than",
    "hard_of_own_class": "of its own class",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="folder of the runs")
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    given = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    with DATA.open(encoding="utf-8", newline="") as file:
        rows = [(int(row[0]) - 1, row[2].strip()) for row in csv.reader(file)]
    for name in given.only:
        record = RESULTS / f"{name.replace(', ', '-').replace(' ', '')}.json"
        if not record.exists():
            values = {"setting": name, **ask(rows, SETTINGS[name], given.output)}
            record.write_text(json.dumps(values, indent=2) + "\n", "utf-8")
        write_table()


def ask(rows: list[tuple[int, str]], changes: dict[str, Any], output: Path) -> dict[str, Any]:
    """Train on all texts, then look at the last step's clusters."""
    folder, corpus = output / "run", output / "dbpedia.txt"
    output.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    corpus.write_text("".join(f"{text}\n" for _, text in rows), "utf-8")
    settings = {**SHARED, **changes}
    train(
        corpus, folder, recipe=settings.pop("recipe"), seed=1, settings=settings, quiet=True
    )  # fmt: skip
    checkpoint = folder / "checkpoints" / f"checkpoint-{STEPS}"
    model = SentenceTransformer(str(checkpoint), device="cpu")
    vectors = load_file(checkpoint / LOSS_FILE)["centroids.vectors"]
    centroids = Centroids(*vectors.shape)
    centroids.start(vectors)
    chosen = np.random.default_rng(0).permutation(len(rows))[:JUDGED]
    model.max_seq_length = 32  # as in training
    embedded = model.encode([rows[row][1] for row in chosen], show_progress_bar=False)
    classes = np.array([rows[row][0] for row in chosen])
    size = int(settings.get("batch_size", 64))
    return {
        "changes": changes,
        "values": compare(torch.from_numpy(embedded), classes, centroids, size),
        "record": make_record(),
    }


def compare(
    vectors: torch.Tensor, classes: np.ndarray, centroids: Centroids, size: int
) -> dict[str, float]:
    """The clusters of (n, d) vectors against their classes, in batches of ``size``; all in percent."""
    found = centroids.nearest(vectors)
    cluster, second = found.nearest.numpy(), found.second.numpy()
    unit = torch.nn.functional.normalize(vectors, dim=1)
    counts = np.zeros((len(centroids), classes.max() + 1))
    np.add.at(counts, (cluster, classes), 1)
    own_class = counts.argmax(1)  # the class that most members of a cluster have
    pairs, of_class, in_cluster, both, harder = 0, 0, 0, 0, []
    for batch in np.array_split(np.arange(len(classes)), len(classes) // size):
        others = ~np.eye(len(batch), dtype=bool)
        same_class = (classes[batch][:, None] == classes[batch]) & others
        same_cluster = (cluster[batch][:, None] == cluster[batch]) & others
        pairs += others.sum()
        of_class += same_class.sum()
        in_cluster += same_cluster.sum()
        both += (same_class & same_cluster).sum()
        hard = found.similarities[batch, second[batch]]
        below = (unit[batch] @ unit[batch].T < hard[:, None]).numpy() & others
        harder.append(below.sum(1) / (len(batch) - 1))
    means = KMeans(len(centroids), n_init=1, random_state=0).fit(unit.numpy()).labels_
    return {
        "pairs_of_a_class": 100 * of_class / pairs,
        "cluster_pairs_of_a_class": 100 * both / max(1, in_cluster),
        "recall": 100 * both / of_class,
        "ami": 100 * adjusted_mutual_information(classes, cluster),
        "kmeans_ami": 100 * adjusted_mutual_information(classes, means),
        "harder_than": 100 * float(np.concatenate(harder).mean()),
        "hard_of_own_class": 100 * float((own_class[second] == classes).mean()),
    }


def write_table() -> None:
    cells = [json.loads(file.read_text("utf-8")) for file in sorted(RESULTS.glob("*.json"))]
    lines = [
        "# Clusters of ClusterNS against known classes",
        "",
        f"DBpedia, 14 classes, {STEPS} steps of ClusterNS with crops, seed 1; percent. Written by",
        "`scripts/cluster_quality.py`, which explains the columns, from the records beside this file.",
        "",
        f"| setting | {' | '.join(COLUMNS.values())} |",
        "|---|" + "---:|" * len(COLUMNS),
    ]
    for cell in cells:
        values = " | ".join(f"{cell['values'][key]:.1f}" for key in COLUMNS)
        lines.append(f"| {cell['setting']} | {values} |")
    (RESULTS / "README.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
