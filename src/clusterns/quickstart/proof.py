"""The proof of the quickstart: what a model can do with docstrings it has never seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer

from clusterns.evaluation.clustering import adjusted_mutual_information, cluster_seeds
from clusterns.evaluation.geometry import alignment, normalise, uniformity
from clusterns.evaluation.validators import HalvesEvaluator, mean_reciprocal_rank
from clusterns.losses.functional import cosine_matrix
from clusterns.quickstart.queries import QUERIES

SUBPACKAGES = 20
SEEDS = (0, 1, 2)
TOP = 10


@dataclass(frozen=True)
class Figure:
    """One row of the table: what is measured, and whether more or less of it is better."""

    name: str
    higher_is_better: bool = True


FIGURES = {
    "retrieval": Figure("held out: summary line finds its rest, MRR"),
    "clustering": Figure("held out: clusters against subpackages, AMI"),
    "halves": Figure("held out: label-free score"),
    "alignment": Figure("held out: alignment of summary and rest", higher_is_better=False),
    "uniformity": Figure("held out: uniformity", higher_is_better=False),
    "queries_found": Figure(f"questions over all docstrings: answered in the first {TOP}"),
    "queries_mrr": Figure("questions over all docstrings: MRR"),
}


class Proof:
    """Tasks made from docstrings that were kept out of training, and hand-written questions.

    Args:
        objects: rows of documented objects (see ``DocstringCorpus.objects``).
        most: at most this many held-out objects, to keep the quickstart quick.
    """

    def __init__(self, objects: Dataset, most: int = 1000) -> None:
        # Objects come package by package: shuffled, so that a part of them stands for all.
        kept_out = objects.filter(lambda row: row["held_out"]).shuffle(seed=0)
        # A summary that two objects share has two right answers: one of them stays.
        distinct = {row["summary"]: row for row in kept_out if row["rest"]}
        explained = list(distinct.values())[:most]
        self.summaries = [row["summary"] for row in explained]
        self.rests = [" ".join(row["rest"]) for row in explained]
        self.halves = HalvesEvaluator(self.summaries)
        largest = [name for name, _ in Counter(kept_out["subpackage"]).most_common(SUBPACKAGES)]
        rows = [row for row in kept_out if row["subpackage"] in largest][:most]
        self.to_cluster = [row["summary"] for row in rows]
        self.subpackages = np.array([largest.index(row["subpackage"]) for row in rows])
        self.answers = _candidates(objects)
        known = set(self.answers["name"])
        self.queries = {q: names for q, names in QUERIES.items() if known.intersection(names)}

    def __call__(self, model: SentenceTransformer) -> dict[str, float]:
        """Every figure of a model."""
        summaries, rests = self._embed(model, self.summaries), self._embed(model, self.rests)
        pairs = normalise(summaries.numpy()), normalise(rests.numpy())
        to_cluster = torch.nn.functional.normalize(self._embed(model, self.to_cluster)).numpy()
        clusters = cluster_seeds(to_cluster, len(set(self.subpackages.tolist())), SEEDS)
        ranks = self._query_ranks(model)
        return {
            "retrieval": mean_reciprocal_rank(cosine_matrix(summaries, rests)),
            "clustering": float(
                np.mean([adjusted_mutual_information(self.subpackages, c) for c in clusters])
            ),
            "halves": self.halves(model)[str(self.halves.primary_metric)],
            "alignment": alignment(*pairs),
            "uniformity": uniformity(pairs[0]),
            "queries_found": float(np.mean([rank <= TOP for rank in ranks])),
            "queries_mrr": float(np.mean([1 / rank for rank in ranks])),
        }

    def _query_ranks(self, model: SentenceTransformer) -> list[float]:
        """Rank of the best answer of each question among all candidates; a wrong one at the same
        similarity counts as half a rank, so that a constant embedding gains nothing."""
        similarities = cosine_matrix(
            self._embed(model, list(self.queries)), self._embed(model, self.answers["summary"])
        )
        names = list(self.answers["name"])
        ranks = []
        for row, right in zip(similarities, self.queries.values(), strict=True):
            is_right = torch.tensor([name in right for name in names])
            best, wrong = row[is_right].max(), row[~is_right]
            above, level = (wrong > best).sum(), (wrong == best).sum()
            ranks.append(float(1 + above + level / 2))
        return ranks

    @staticmethod
    def _embed(model: SentenceTransformer, texts: Sequence[str]) -> torch.Tensor:
        vectors = model.encode(list(texts), batch_size=64, convert_to_tensor=True)
        return vectors.float().cpu()


def _candidates(objects: Dataset) -> Dataset:
    """What a question may find: functions and classes of the packages that hold the answers."""
    packages = {name.partition(".")[0] for names in QUERIES.values() for name in names}
    wanted = {name for names in QUERIES.values() for name in names}
    return objects.filter(
        lambda row: (
            row["name"] in wanted
            or (
                row["package"] in packages
                and row["kind"] in {"function", "class"}
                and row["name"].count(".") <= 2
            )
        )
    )
