"""Run the suites: from a model's embeddings and a set to results."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from clusterns.console import bar
from clusterns.evaluation.clustering import MEASURES, cluster
from clusterns.evaluation.datasets import (
    LabeledTexts,
    Retrieval,
    ScoredPairs,
    TransferTask,
    label_of,
)
from clusterns.evaluation.geometry import geometry_of
from clusterns.evaluation.logistic import Protocol
from clusterns.evaluation.plan import MTEB, OWN, RETRIEVAL, Job
from clusterns.evaluation.results import Predictions, SetResult
from clusterns.evaluation.retrieval import retrieval_of
from clusterns.evaluation.sts import cosines_of, spearman
from clusterns.evaluation.transfer import transfer_score
from clusterns.vectors.embed import Embedder

Found = tuple[dict[str, SetResult], Predictions]


@dataclass(frozen=True)
class EvaluationContext:
    """Shared by all suites: the embedder, and the number of K-means runs."""

    embed: Embedder
    kmeans_runs: int = 10
    progress: bool = False


def run_job(context: EvaluationContext, job: Job) -> Found:
    """Compute one set: one result or several, and the model's predictions per example.

    Predictions on the user's own pairs come with the gold scores, and the clusters of pairs that share sentences.
    """
    if job.suite == MTEB:
        from clusterns.evaluation.mteb import run_mteb

        return run_mteb(context.embed.model, [job.name], context.embed.batch_size).sets, {}
    if job.suite == "geometry":
        return _geometry(context, job)
    if isinstance(job.data, ScoredPairs):
        return _scored_pairs(context, job, job.data)
    if isinstance(job.data, TransferTask):
        return _transfer(context, job, job.data)
    if isinstance(job.data, LabeledTexts):
        return _labeled_texts(context, job, job.data)
    assert isinstance(job.data, Retrieval)
    return _retrieval(context, job, job.data)


def settings_of(job: Job, kmeans_runs: int) -> dict[str, Any]:
    """The settings that determine the result of a job, other than those of the model."""
    if job.suite == MTEB:
        from clusterns.evaluation.mteb import mteb_version

        return {"mteb": mteb_version()}
    if isinstance(job.data, TransferTask):
        return asdict(Protocol())
    if isinstance(job.data, LabeledTexts):
        return {"kmeans_seeds": kmeans_runs}
    return {"by": job.data.by} if isinstance(job.data, Retrieval) and job.suite == RETRIEVAL else {}


def _scored_pairs(context: EvaluationContext, job: Job, pairs: ScoredPairs) -> Found:
    """Spearman's correlation x100 over the whole set and for each subset."""
    cosines = cosines_of(context.embed, pairs)
    details = {
        subset: 100 * spearman(cosines[rows], pairs.scores[rows])
        for subset, rows in pairs.subsets.items()
    }
    found = _result(context, job, 100 * spearman(cosines, pairs.scores), details)
    predictions: Predictions = {job.suite: cosines.astype(np.float32)}
    if job.suite == OWN:  # the gold scores of benchmarks are others' work: they are not stored
        predictions |= {f"gold/{OWN}": pairs.scores, f"clusters/{OWN}": pairs.clusters}
    return {job.name: found}, predictions


def _transfer(context: EvaluationContext, job: Job, task: TransferTask) -> Found:
    """Accuracy of SentEval's classifier."""
    context.embed(task.sentences)
    score = transfer_score(context.embed, task, progress=context.progress)
    details = {} if score.f1 is None else {"F1": score.f1}
    found = _result(context, job, score.accuracy, details)
    return {job.name: found}, {job.suite: score.right}


def _labeled_texts(context: EvaluationContext, job: Job, texts: LabeledTexts) -> Found:
    """Mean and standard deviation of the set's metric over K-means runs, and the other metric as a detail."""
    vectors = context.embed(texts.texts)
    runs = bar(range(context.kmeans_runs), desc="K-means", leave=False, shown=context.progress)
    clusters = [cluster(vectors, texts.classes, seed) for seed in runs]
    numbers = {
        name: 100 * np.array([measure(texts.labels, found) for found in clusters])
        for name, measure in MEASURES.items()
    }
    own = numbers.pop(texts.metric)
    details = {name: float(each.mean()) for name, each in numbers.items()}
    found = _result(context, job, float(own.mean()), details)
    found.spread = float(own.std(ddof=1)) if context.kmeans_runs > 1 else None
    return {job.name: found}, {}


def _retrieval(context: EvaluationContext, job: Job, retrieval: Retrieval) -> Found:
    """nDCG@10 x100, and the other measures as details."""
    found = retrieval_of(context.embed, retrieval)
    numbers = {name: 100 * float(each.mean()) for name, each in found.items()}
    result = _result(context, job, numbers.pop("ndcg@10"), numbers)
    if retrieval.by == "words":
        result.truncated = 0.0
    return {job.name: result}, {job.suite: found["ndcg@10"].astype(np.float32)}


def _geometry(context: EvaluationContext, job: Job) -> Found:
    """Alignment, uniformity and anisotropy, each as a separate set."""
    assert isinstance(job.data, ScoredPairs)
    sets = {}
    for name, value in geometry_of(context.embed, job.data).items():
        found = _result(context, job, value)
        found.name = found.metric = name
        sets[label_of(name, found.variant)] = found
    return sets, {}


def _result(
    context: EvaluationContext, job: Job, value: float, details: dict[str, float] | None = None
) -> SetResult:
    data = job.data
    assert data is not None
    return SetResult(
        value,
        data.metric,
        data.rows[-1],
        context.embed.truncation_rate(data.sentences),
        job.source,
        details=details or {},
        digest=data.digest,
        name=data.name,
        variant=data.variant,
    )
