"""What a model can do with docstrings that it was not trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import torch
import yaml
from datasets import Dataset
from sentence_transformers import SentenceTransformer

from clusterns.evaluation.clustering import adjusted_mutual_information, cluster_seeds
from clusterns.evaluation.geometry import alignment, uniformity
from clusterns.evaluation.retrieval import reciprocal_ranks
from clusterns.evaluation.validators import HalvesEvaluator
from clusterns.losses.functional import cosine_matrix
from clusterns.vectors.nearest import unit

QUERIES: dict[str, list[str]] = yaml.safe_load(
    (files("clusterns.quickstart") / "queries.yaml").read_text("utf-8")
)
SUBPACKAGES = 20
SEEDS = (0, 1, 2)
TOP = 10
# Each with an arrow: whether higher or lower is better.
MEASURES = {
    "retrieval": "held out: summary line finds its rest, MRR ↑",
    "clustering": "held out: clusters against subpackages, AMI ↑",
    "halves": "held out: label-free score ↑",
    "alignment": "held out: alignment of summary and rest ↓",
    "uniformity": "held out: uniformity ↓",
    "queries_found": f"questions over all docstrings: answered in the first {TOP} ↑",
    "queries_mrr": "questions over all docstrings: MRR ↑",
}


class DocstringBenchmark:
    """Tasks made from docstrings that were held out of training, and hand-written questions.

    Args:
        objects: rows of documented objects (see ``DocstringCorpus.objects``).
        limit: maximum number of held-out objects, which keeps the quickstart quick.
    """

    def __init__(self, objects: Dataset, limit: int = 1000) -> None:
        # Objects come package by package: shuffled, so that a part of them represents all.
        held_out = objects.filter(lambda row: row["held_out"]).shuffle(seed=0)
        # A summary that two objects share has two right answers: one of them stays.
        distinct = {row["summary"]: row for row in held_out if row["rest"]}
        explained = list(distinct.values())[:limit]
        self.summaries = [row["summary"] for row in explained]
        self.rests = [" ".join(row["rest"]) for row in explained]
        self.halves = HalvesEvaluator(self.summaries)
        largest = [name for name, _ in Counter(held_out["subpackage"]).most_common(SUBPACKAGES)]
        rows = [row for row in held_out if row["subpackage"] in largest][:limit]
        self.to_cluster = [row["summary"] for row in rows]
        self.subpackages = np.array([largest.index(row["subpackage"]) for row in rows])
        # A question may find functions and classes of the packages that hold the answers.
        answers = {name for names in QUERIES.values() for name in names}
        packages = {name.partition(".")[0] for name in answers}

        def is_candidate(row: dict[str, Any]) -> bool:
            is_main = row["kind"] in {"function", "class"} and row["name"].count(".") <= 2
            return row["name"] in answers or (is_main and row["package"] in packages)

        self.candidates = objects.filter(is_candidate)
        known = set(self.candidates["name"])
        self.queries = {q: names for q, names in QUERIES.items() if known.intersection(names)}

    def __call__(self, model: SentenceTransformer) -> dict[str, float]:
        """Every measure of a model."""
        summaries, rests = _embed(model, self.summaries), _embed(model, self.rests)
        pairs = unit(summaries.numpy()), unit(rests.numpy())
        to_cluster = torch.nn.functional.normalize(_embed(model, self.to_cluster)).numpy()
        clusters = cluster_seeds(to_cluster, len(set(self.subpackages.tolist())), SEEDS)
        ami = [adjusted_mutual_information(self.subpackages, found) for found in clusters]
        ranks = self._query_ranks(model)
        return {
            "retrieval": float(reciprocal_ranks(cosine_matrix(summaries, rests).numpy()).mean()),
            "clustering": float(np.mean(ami)),
            "halves": self.halves(model)[str(self.halves.primary_metric)],
            "alignment": alignment(*pairs),
            "uniformity": uniformity(pairs[0]),
            "queries_found": float(np.mean(ranks <= TOP)),
            "queries_mrr": float(np.mean(1 / ranks)),
        }

    def _query_ranks(self, model: SentenceTransformer) -> np.ndarray:
        """Rank of the best answer to each question among all candidates; a wrong one at the same
        similarity counts as half a rank, so that a constant embedding gains nothing."""
        similarities = cosine_matrix(
            _embed(model, list(self.queries)), _embed(model, self.candidates["summary"])
        )
        names = self.candidates["name"][:]
        relevant = np.array([np.isin(names, right) for right in self.queries.values()])
        return 1 / reciprocal_ranks(similarities.numpy(), relevant)


def _embed(model: SentenceTransformer, texts: Sequence[str]) -> torch.Tensor:
    vectors = model.encode(list(texts), batch_size=64, convert_to_tensor=True)
    return vectors.float().cpu()
