"""The evaluations as Sentence Transformers evaluators, for anyone's trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sentence_transformers.base.evaluation import BaseEvaluator

from clusterns.errors import UserError
from clusterns.evaluation.data.catalogue import SUITES
from clusterns.evaluation.data.find import EvaluationData
from clusterns.evaluation.data.sets import ScoredPairs
from clusterns.evaluation.plan import find_jobs
from clusterns.evaluation.results.results import AVERAGED, LOWER_IS_BETTER, average
from clusterns.evaluation.scores.sts import cosines_of, spearman
from clusterns.evaluation.suites import Bench, run_job
from clusterns.vectors.embed import Embedder


class ScoredPairsEvaluator(BaseEvaluator):
    """Spearman's correlation of cosines with gold scores, as ``<name>_spearman`` in [-1, 1].

    Encodes only these pairs, each distinct sentence once.
    """

    def __init__(self, pairs: ScoredPairs, name: str = "", batch_size: int = 32) -> None:
        super().__init__()
        self.pairs = pairs
        self.name = name or pairs.name.replace(" ", "-")
        self.batch_size = batch_size
        self.primary_metric = f"{self.name}_spearman"

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Evaluate a model; returns the one metric."""
        embed = Embedder(model, self.batch_size)
        metrics = {self.primary_metric: spearman(cosines_of(embed, self.pairs), self.pairs.scores)}
        self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        return metrics


class SuiteEvaluator(BaseEvaluator):
    """A whole suite as an evaluator: ``<suite>_<set>`` for each set.

    ``<suite>_mean``, the primary metric, is the average of the paper's tables: over the seven sets
    of sts or transfer, over the eight short-text sets of clustering. A suite without all of these
    sets has none, and geometry never has, since its three numbers have no common unit.

    Args:
        suite: sts, transfer, clustering or geometry.
        data: the folder of the data; by default CLUSTERNS_DATA, else the Hub.
        seeds: K-means runs, for clustering.
        batch_size: sentences a forward pass.
    """

    def __init__(
        self, suite: str, data: Path | None = None, seeds: int = 10, batch_size: int = 32
    ) -> None:
        super().__init__()
        if suite not in SUITES:
            raise UserError(f"there is no suite {suite!r}: choose from {', '.join(SUITES)}.")
        self.suite = suite
        self.plan = find_jobs([suite], EvaluationData(data))
        self.seeds = seeds
        self.batch_size = batch_size
        self.greater_is_better = suite not in LOWER_IS_BETTER
        found = {job.name for job in self.plan.jobs}
        if suite in AVERAGED and set(AVERAGED[suite]) <= found:
            self.primary_metric = f"{suite}_mean"

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Evaluate a model on the sets that are at hand."""
        bench = Bench(Embedder(model, self.batch_size), self.seeds)
        values = {
            name: one.value
            for job in self.plan.jobs
            for name, one in run_job(bench, job).sets.items()
        }
        metrics = {f"{self.suite}_{name}": value for name, value in values.items()}
        mean = average(self.suite, values)
        if mean is not None:
            metrics[f"{self.suite}_mean"] = mean
        self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        return metrics
