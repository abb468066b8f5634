"""The suites: from a model's embeddings and a set of data to results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterns.console import bar, printable
from clusterns.evaluation.clustering import (
    Labels,
    adjusted_mutual_information,
    cluster,
    hungarian_accuracy,
)
from clusterns.evaluation.datasets import (
    LabelledTexts,
    Retrieval,
    ScoredPairs,
    TransferTask,
    row_count,
)
from clusterns.evaluation.geometry import geometry_of
from clusterns.evaluation.logistic import Protocol
from clusterns.evaluation.plan import MTEB, Job
from clusterns.evaluation.results import SetResult
from clusterns.evaluation.retrieval import retrieval_of
from clusterns.evaluation.sts import cosines_of, spearman
from clusterns.evaluation.transfer import count_ticks, transfer_score
from clusterns.vectors.embed import Embedder

# Accuracy under the best one-to-one match of clusters to classes.
CLUSTERING_ACCURACY = "clustering accuracy"


@dataclass(frozen=True)
class Bench:
    """What every suite works with: embeddings, and the number of K-means seeds."""

    embed: Embedder
    seeds: int = 10
    progress: bool = False

    def bar(self, name: str, total: int, unit: str) -> Any:
        """A progress bar, where bars are wanted."""
        return bar(total=total, desc=printable(name), unit=unit, leave=False, shown=self.progress)


@dataclass(frozen=True)
class Outcome:
    """What was found on one set: a number or several, and the model's answers row by row.

    ``gold`` is what the answers are measured against, where that is the user's own to keep, and
    ``clusters`` says which pairs share sentences.
    """

    sets: dict[str, SetResult]
    answers: NDArray[Any] | None = None
    gold: NDArray[Any] | None = None
    clusters: NDArray[Any] | None = None


def run_job(bench: Bench, job: Job) -> Outcome:
    """Compute one set."""
    if job.suite == MTEB:
        from clusterns.evaluation.mteb import run_mteb

        return Outcome(run_mteb(bench.embed.model, [job.name], bench.embed.batch_size).sets)
    if job.suite == "geometry":
        return _geometry(bench, job)
    if isinstance(job.data, ScoredPairs):
        return _scored_pairs(bench, job, job.data)
    if isinstance(job.data, TransferTask):
        return _transfer(bench, job, job.data)
    if isinstance(job.data, LabelledTexts):
        return _labelled_texts(bench, job, job.data)
    assert isinstance(job.data, Retrieval)
    return _retrieval(bench, job, job.data)


def settings_of(job: Job, seeds: int) -> dict[str, Any]:
    """The settings, beside those of the model, that decide what a job finds."""
    if job.suite == MTEB:
        from clusterns.evaluation.mteb import mteb_version

        return {"mteb": mteb_version()}
    if isinstance(job.data, TransferTask):
        return asdict(Protocol())
    return {"kmeans_seeds": seeds} if isinstance(job.data, LabelledTexts) else {}


def _scored_pairs(bench: Bench, job: Job, pairs: ScoredPairs) -> Outcome:
    """Spearman's correlation x100 over the whole set and for each subset."""
    cosines = cosines_of(bench.embed, pairs)
    details = {
        subset: 100 * spearman(cosines[rows], pairs.scores[rows])
        for subset, rows in pairs.subsets.items()
    }
    found = _result(bench, job, 100 * spearman(cosines, pairs.scores), "Spearman", details)
    outcome = Outcome({job.name: found}, cosines.astype(np.float32))
    # The gold scores of benchmarks are others' work and do not go into result files.
    own = job.suite == "own"
    return replace(outcome, gold=pairs.scores, clusters=pairs.clusters) if own else outcome


def _transfer(bench: Bench, job: Job, task: TransferTask) -> Outcome:
    """Accuracy of SentEval's classifier."""
    bench.embed(task.sentences)
    with bench.bar(job.name, count_ticks(task), "fold") as shown:
        score = transfer_score(bench.embed, task, tick=shown.update)
    details = {} if score.f1 is None else {"F1": score.f1}
    return Outcome(
        {job.name: _result(bench, job, score.accuracy, "accuracy", details)}, score.right
    )


def _labelled_texts(bench: Bench, job: Job, texts: LabelledTexts) -> Outcome:
    """Mean and spread over K-means seeds; accuracy, and AMI beside it; DBpedia by AMI."""
    vectors = bench.embed(texts.texts)
    clusters = []
    with bench.bar(job.name, bench.seeds, "seed") as shown:
        for seed in range(bench.seeds):
            clusters.append(cluster(vectors, texts.classes, seed))
            shown.update()
    measures: dict[str, Callable[[Labels, Labels], float]] = {
        CLUSTERING_ACCURACY: hungarian_accuracy,
        "AMI": adjusted_mutual_information,
    }
    numbers = {
        name: 100 * np.array([measure(texts.labels, found) for found in clusters])
        for name, measure in measures.items()
    }
    is_dbpedia = job.suite == "clustering" and job.name.startswith("DBpedia")
    metric = "AMI" if is_dbpedia else CLUSTERING_ACCURACY
    details = {name: float(n.mean()) for name, n in numbers.items() if name != metric}
    found = _result(bench, job, float(numbers[metric].mean()), metric, details)
    found.spread = float(numbers[metric].std(ddof=1)) if bench.seeds > 1 else None
    return Outcome({job.name: found})


def _retrieval(bench: Bench, job: Job, retrieval: Retrieval) -> Outcome:
    """nDCG@10 x100, and the other measures beside it."""
    numbers = {key: 100 * value for key, value in retrieval_of(bench.embed, retrieval).items()}
    value = numbers.pop("ndcg@10")
    return Outcome({job.name: _result(bench, job, value, "nDCG@10", numbers)})


def _geometry(bench: Bench, job: Job) -> Outcome:
    """Alignment, uniformity and anisotropy."""
    assert isinstance(job.data, ScoredPairs)
    origin = job.name.removeprefix("STS-B")  # " (Hub)" where it is from there
    numbers = geometry_of(bench.embed, job.data)
    return Outcome(
        {f"{key}{origin}": _result(bench, job, value, key) for key, value in numbers.items()}
    )


def _result(
    bench: Bench, job: Job, value: float, metric: str, details: dict[str, float] | None = None
) -> SetResult:
    assert job.data is not None
    return SetResult(
        value,
        metric,
        row_count(job.data),
        bench.embed.truncation_rate(job.data.sentences),
        job.source,
        details=details or {},
        digest=job.data.digest,
    )
