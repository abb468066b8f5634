"""The suites: from a model's embeddings and the data to results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from tqdm import tqdm

from clusterns.console import say
from clusterns.errors import UserError
from clusterns.evaluation.data.catalogue import SHORT_TEXTS, STS, TRANSFER
from clusterns.evaluation.data.find import EvaluationData, MissingData, missing_message
from clusterns.evaluation.data.sets import LabelledTexts, Retrieval, ScoredPairs, TransferTask
from clusterns.evaluation.results.results import Results, SetResult, SuiteResult
from clusterns.evaluation.scores.classifier import Protocol
from clusterns.evaluation.scores.clustering import (
    Labels,
    adjusted_mutual_information,
    cluster_seeds,
    hungarian_accuracy,
)
from clusterns.evaluation.scores.geometry import geometry_of
from clusterns.evaluation.scores.retrieval import retrieval_of
from clusterns.evaluation.scores.sts import cosines_of, spearman
from clusterns.evaluation.scores.transfer import count_ticks, transfer_score
from clusterns.vectors.embed import Embedder

SUITES = ("sts", "transfer", "clustering", "geometry")
Found = TypeVar("Found", ScoredPairs, LabelledTexts, TransferTask)


@dataclass(frozen=True)
class Bench:
    """What every suite works with: embeddings, data, and the number of K-means seeds."""

    embed: Embedder
    data: EvaluationData
    seeds: int = 10
    progress: bool = False


def run_suites(bench: Bench, names: Iterable[str], results: Results) -> None:
    """Run suites and add what they find to the results."""
    for name in names:
        start = time.perf_counter()
        suite = RUNNERS[name](bench, results)
        suite.seconds = round(time.perf_counter() - start, 1)
        results.suites[name] = suite


def run_sts(bench: Bench, results: Results) -> SuiteResult:
    """STS12-16, STS-B and SICK-R: Spearman's correlation of cosines, over all of a set at once."""
    found, missing = _find(bench.data.pairs, STS)
    bench.embed([sentence for pairs in found.values() for sentence in pairs.sentences])
    suite = SuiteResult({}, missing=missing)
    for name, pairs in found.items():
        suite.sets[name] = scored_pairs_result(bench, pairs, results, f"sts/{name}")
    suite.average = _average(suite, STS)
    return suite


def run_transfer(bench: Bench, results: Results) -> SuiteResult:
    """MR, CR, SUBJ, MPQA, SST-2, TREC and MRPC: accuracy of SentEval's classifier."""
    found, missing = _find(bench.data.task, TRANSFER)
    bench.embed([sentence for task in found.values() for sentence in task.sentences])
    suite = SuiteResult({}, missing=missing, settings=asdict(Protocol()))
    total = sum(count_ticks(task) for task in found.values())
    with tqdm(total=total, unit="fold", disable=not bench.progress) as bar:
        for name, task in found.items():
            bar.set_description(name)
            score = transfer_score(bench.embed, task, tick=bar.update)
            details = {} if score.f1 is None else {"F1": score.f1}
            suite.sets[name] = SetResult(
                score.accuracy,
                "accuracy",
                len(score.right),
                bench.embed.truncation_rate(task.sentences),
                _source(bench, task.source),
                details=details,
                digest=task.digest,
            )
            results.items[f"transfer/{name}"] = score.right
    suite.average = _average(suite, TRANSFER)
    return suite


def run_clustering(bench: Bench, results: Results) -> SuiteResult:
    """The eight short-text sets by Hungarian accuracy, and DBpedia by AMI."""
    found, missing = _find(bench.data.texts, (*SHORT_TEXTS, "DBpedia"))
    bench.embed([sentence for texts in found.values() for sentence in texts.sentences])
    suite = SuiteResult({}, missing=missing, settings={"kmeans_seeds": bench.seeds})
    for name, texts in tqdm(found.items(), desc="K-means", disable=not bench.progress):
        suite.sets[name] = labelled_texts_result(bench, texts, "AMI" if name == "DBpedia" else "")
    suite.average = _average(suite, SHORT_TEXTS)
    return suite


def run_geometry(bench: Bench, results: Results) -> SuiteResult:
    """Alignment, uniformity and anisotropy on STS-B's test split."""
    pairs = bench.data.pairs("STS-B")
    numbers = geometry_of(bench.embed, pairs)
    truncated = bench.embed.truncation_rate(pairs.sentences)
    rows, source = len(pairs.scores), _source(bench, pairs.source)
    return SuiteResult(
        {key: SetResult(value, key, rows, truncated, source) for key, value in numbers.items()}
    )


RUNNERS: dict[str, Callable[[Bench, Results], SuiteResult]] = {
    "sts": run_sts,
    "transfer": run_transfer,
    "clustering": run_clustering,
    "geometry": run_geometry,
}


def run_own(
    bench: Bench, sets: Iterable[ScoredPairs | LabelledTexts | Retrieval], results: Results
) -> SuiteResult:
    """The user's own sets."""
    suite = SuiteResult({})
    for own in sets:
        if own.name in suite.sets:
            raise UserError(f"two files are called {own.name}: rename one, results go by the name.")
        if isinstance(own, ScoredPairs):
            suite.sets[own.name] = scored_pairs_result(bench, own, results, f"own/{own.name}")
            results.items[f"gold/own/{own.name}"] = own.scores
        elif isinstance(own, LabelledTexts):
            suite.sets[own.name] = labelled_texts_result(bench, own, "")
        else:
            suite.sets[own.name] = retrieval_result(bench, own)
    results.suites["own"] = suite
    return suite


def scored_pairs_result(bench: Bench, pairs: ScoredPairs, results: Results, key: str) -> SetResult:
    """Spearman's correlation x100 over the whole set and for each subset."""
    cosines = cosines_of(bench.embed, pairs)
    results.items[key] = cosines.astype(np.float32)
    details = {
        subset: 100 * spearman(cosines[rows], pairs.scores[rows])
        for subset, rows in pairs.subsets.items()
    }
    return SetResult(
        100 * spearman(cosines, pairs.scores),
        "Spearman",
        len(pairs.scores),
        bench.embed.truncation_rate(pairs.sentences),
        _source(bench, pairs.source),
        details=details,
        digest=pairs.digest,
    )


def labelled_texts_result(bench: Bench, texts: LabelledTexts, metric: str) -> SetResult:
    """Mean and spread over K-means seeds; accuracy, and AMI beside it, or the other way round."""
    clusters = cluster_seeds(bench.embed(texts.texts), texts.classes, range(bench.seeds))
    measures: dict[str, Callable[[Labels, Labels], float]] = {
        "accuracy": hungarian_accuracy,
        "AMI": adjusted_mutual_information,
    }
    numbers = {
        name: 100 * np.array([measure(texts.labels, found) for found in clusters])
        for name, measure in measures.items()
    }
    metric = metric or "accuracy"
    return SetResult(
        float(numbers[metric].mean()),
        metric,
        len(texts.labels),
        bench.embed.truncation_rate(texts.sentences),
        _source(bench, texts.source),
        spread=float(numbers[metric].std(ddof=1)) if bench.seeds > 1 else None,
        details={name: float(n.mean()) for name, n in numbers.items() if name != metric},
    )


def retrieval_result(bench: Bench, retrieval: Retrieval) -> SetResult:
    """nDCG@10 x100, and the other measures beside it."""
    numbers = {key: 100 * value for key, value in retrieval_of(bench.embed, retrieval).items()}
    return SetResult(
        numbers.pop("ndcg@10"),
        "nDCG@10",
        len(retrieval.queries),
        bench.embed.truncation_rate(retrieval.sentences),
        _source(bench, retrieval.source),
        details=numbers,
    )


def _find(find: Callable[[str], Found], names: Iterable[str]) -> tuple[dict[str, Found], list[str]]:
    """Find what is at hand, and say once what is not; nothing at all is an error."""
    found: dict[str, Found] = {}
    missing: list[MissingData] = []
    for name in names:
        try:
            found[name] = find(name)
        except MissingData as error:
            missing.append(error)
    if missing and not found:
        raise UserError(missing_message(missing))
    if missing:
        say(missing_message(missing))
    return found, [error.name for error in missing]


def _average(suite: SuiteResult, names: tuple[str, ...]) -> float | None:
    """The mean over the sets of the paper's table, once all of them are there."""
    if not all(name in suite.sets for name in names):
        return None
    return float(np.mean([suite.sets[name].value for name in names]))


def _source(bench: Bench, source: str) -> str:
    """A source as it goes on record: relative to the data folder, the same on every machine."""
    folder = bench.data.folder
    if folder and Path(source).is_relative_to(folder):
        return Path(source).relative_to(folder).as_posix()
    return source if source.startswith("Hub") else Path(source).name
