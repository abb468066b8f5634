"""Evaluate a model on docstrings that it was not trained on."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from typing import Any

import numpy as np
import yaml
from datasets import Dataset
from sentence_transformers import SentenceTransformer

from clusterns.evaluation.clustering import adjusted_mutual_information, cluster_seeds
from clusterns.evaluation.geometry import alignment, uniformity
from clusterns.evaluation.retrieval import reciprocal_ranks
from clusterns.evaluation.validators import HalvesEvaluator
from clusterns.vectors.embed import Embedder
from clusterns.vectors.nearest import unit

QUERIES: dict[str, list[str]] = yaml.safe_load(
    (files("clusterns.quickstart") / "queries.yaml").read_text("utf-8")
)
SUBPACKAGES = 20
SEEDS = (0, 1, 2)
BATCH_SIZE = 64
TOP = 10
# The arrow shows whether higher or lower is better.
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
        # Objects are sorted by package; shuffle them, so that a part is representative.
        held_out = objects.filter(lambda row: row["held_out"]).shuffle(seed=0)
        # A summary shared by two objects has two right answers: keep one object.
        distinct = {row["summary"]: row for row in held_out if row["rest"]}
        explained = list(distinct.values())[:limit]
        self.summaries = [row["summary"] for row in explained]
        self.rests = [" ".join(row["rest"]) for row in explained]
        self.halves = HalvesEvaluator(self.summaries)
        largest = [name for name, _ in Counter(held_out["subpackage"]).most_common(SUBPACKAGES)]
        rows = [row for row in held_out if row["subpackage"] in largest][:limit]
        self.to_cluster = [row["summary"] for row in rows]
        self.subpackages = np.array([largest.index(row["subpackage"]) for row in rows])
        # Candidates are the functions and classes of the packages that contain the answers.
        answers = {name for names in QUERIES.values() for name in names}
        packages = {name.partition(".")[0] for name in answers}

        def is_candidate(row: dict[str, Any]) -> bool:
            is_main = row["kind"] in {"function", "class"} and row["name"].count(".") <= 2
            return row["name"] in answers or (is_main and row["package"] in packages)

        self.candidates = objects.filter(is_candidate)
        known = set(self.candidates["name"])
        self.queries = {q: names for q, names in QUERIES.items() if known.intersection(names)}

    def __call__(self, model: SentenceTransformer) -> dict[str, float]:
        """Compute all measures of a model."""
        embed = Embedder(model, BATCH_SIZE)
        texts = (self.summaries, self.rests, self.to_cluster, [*self.queries])
        summaries, rests, members, questions = (unit(embed(each)) for each in texts)
        clusters = cluster_seeds(members, len(np.unique(self.subpackages)), SEEDS)
        ami = [adjusted_mutual_information(self.subpackages, found) for found in clusters]
        names, candidates = self.candidates["name"][:], unit(embed(self.candidates["summary"][:]))
        relevant = np.array([np.isin(names, right) for right in self.queries.values()])
        # Reciprocal rank of the best answer to each question.
        reciprocal = reciprocal_ranks(questions @ candidates.T, relevant)
        return {
            "retrieval": float(reciprocal_ranks(summaries @ rests.T).mean()),
            "clustering": float(np.mean(ami)),
            "halves": self.halves(model)[str(self.halves.primary_metric)],
            "alignment": alignment(summaries, rests),
            "uniformity": uniformity(summaries),
            "queries_found": float(np.mean(reciprocal >= 1 / TOP)),
            "queries_mrr": float(np.mean(reciprocal)),
        }
