"""A model in, its scores out: the body of ``clusterns evaluate``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterns.console import log, shows_status, silenced, status
from clusterns.encoder.locate import check_model, is_plain_encoder
from clusterns.errors import UserError
from clusterns.evaluation.catalog import SUITES, EvaluationData
from clusterns.evaluation.plan import MTEB, Job, Plan, find_jobs
from clusterns.evaluation.results import FOLDER, Results, StoredResult, find_stored, join
from clusterns.files import cache_folder
from clusterns.record import make_record
from clusterns.settings import validated
from clusterns.vectors.settings import DType, Loading, check_device_name

if TYPE_CHECKING:
    from clusterns.evaluation.datasets import EvaluationSet
    from clusterns.vectors.embed import Embedder

# Nothing heavy is imported above: what is wrong with a call is said at once.
ALL = "all"
DEFAULT_SUITES = ("sts",)
DEFAULT_POOLING = "mean"  # of a plain encoder, as Sentence Transformers has it
Files = str | Path | Sequence[str | Path]


def evaluate(
    model: str | Path,
    suites: str | Sequence[str] | None = None,
    *,
    data: str | Path | None = None,
    pairs: Files = (),
    labelled: Files = (),
    queries: Files = (),
    pooling: str | None = None,
    name: str | None = None,
    max_length: int | None = None,
    device: str | None = None,
    dtype: DType = "float32",
    prompt_name: str | None = None,
    truncate_dim: int | None = None,
    batch_size: int = 32,
    seeds: int = 10,
    cache: str | Path | None = None,
    mteb_tasks: Sequence[str] = (),
    again: bool = False,
    quiet: bool = False,
) -> Results:
    """Evaluate an embedding model, as ``clusterns evaluate`` does.

    ```python
    from clusterns import evaluate

    results = evaluate("minibert", pooling="mean", pairs="pairs.csv")
    print(results.suites["own"].sets["pairs"].value)  # Spearman x 100
    ```

    Each set's result is kept on disk as soon as it is there: in ``RUN/evaluation`` for a run
    folder, else in the cache. What is there already, made with the same settings and versions, is
    not computed again; so a killed evaluation goes on where it was. What is not at hand is said
    and left out.

    Args:
        model: a run folder, a SentenceTransformer's path or Hub name, a plain encoder's
            (``minibert`` is inside this package), or a text file of word vectors.
        suites: of sts, transfer, clustering, geometry, mteb, or all (the first four). None: sts, or
            only your own sets where you name some.
        data: folder of the evaluation data. None: the one that CLUSTERNS_DATA names. What is not
            in it comes from `clusterns data fetch` or the Hub.
        pairs: your own scored pairs, a file or several: sentence1, sentence2, score. What the
            columns are called, or their numbers, can follow a file: ``"pairs.csv:a,b,rating"``.
        labelled: your own labelled texts to cluster: label, text.
        queries: your own queries: query, relevant.
        pooling: how a plain encoder's token vectors become one. None: mean.
        name: what to call the model in tables. None: ``model``.
        max_length: tokens to read of each text. None: what the model says.
        device: where to run. None: the best one here.
        dtype: kind of the numbers to compute with.
        prompt_name: which of the model's prompts to put before each text. None: the one that it
            names itself, if any.
        truncate_dim: how many of a vector's first numbers to keep. None: all.
        batch_size: sentences a forward pass.
        seeds: K-means runs for each clustering set.
        cache: a folder that keeps embeddings for the next call.
        mteb_tasks: tasks of the mteb suite. Empty: its STS tasks.
        again: compute what is there already as well.
        quiet: say nothing, draw no bars.

    Raises:
        UserError: something that the caller can mend, in one sentence.
    """
    with silenced(quiet):
        plan = plan_evaluation(
        model, suites, data=data, pairs=pairs, labelled=labelled, queries=queries, pooling=pooling,
        name=name, max_length=max_length, device=device, dtype=dtype, prompt_name=prompt_name,
        truncate_dim=truncate_dim, batch_size=batch_size, seeds=seeds, cache=cache,
        mteb_tasks=mteb_tasks, again=again,
        )  # fmt: skip
        return plan.run()


def plan_evaluation(
    model: str | Path,
    suites: str | Sequence[str] | None = None,
    *,
    data: str | Path | None = None,
    pairs: Files = (),
    labelled: Files = (),
    queries: Files = (),
    pooling: str | None = None,
    name: str | None = None,
    max_length: int | None = None,
    device: str | None = None,
    dtype: DType = "float32",
    prompt_name: str | None = None,
    truncate_dim: int | None = None,
    batch_size: int = 32,
    seeds: int = 10,
    cache: str | Path | None = None,
    mteb_tasks: Sequence[str] = (),
    again: bool = False,
) -> EvaluationPlan:
    """Check the call and find all data; the arguments are those of :func:`evaluate`."""
    none = () if _paths(pairs) + _paths(labelled) + _paths(queries) else DEFAULT_SUITES
    asked = [suites] if isinstance(suites, str) else list(suites or none)
    for suite in asked:
        if suite not in (*SUITES, MTEB, ALL):
            known = ", ".join((*SUITES, MTEB, ALL))
            raise UserError(f"there is no suite {suite!r}: choose from {known}.")
    if device is not None:
        check_device_name(device)
    if pooling is None and is_plain_encoder(str(model)):
        pooling = DEFAULT_POOLING
        log(f"{model} is a plain encoder: evaluating it with {pooling} pooling (--pooling).")
    check_model(str(model), pooling)
    tasks: Sequence[str] = ()
    if MTEB in asked:
        from clusterns.evaluation.mteb import DEFAULT_TASKS, mteb_version

        mteb_version()
        tasks = tuple(mteb_tasks) or DEFAULT_TASKS
    chosen = [suite for suite in SUITES if suite in asked or ALL in asked]
    place = EvaluationData(Path(data) if data is not None else None)
    found = find_jobs(chosen, place, _own_sets(pairs, labelled, queries), tasks)
    loading = {
        "pooling": pooling, "max_length": max_length, "dtype": dtype, "prompt_name": prompt_name,
        "truncate_dim": truncate_dim,
    }  # fmt: skip
    return EvaluationPlan(
        str(model), name or str(model), validated(Loading, loading, "evaluate"), device, found,
        tasks, batch_size, seeds, Path(cache) if cache is not None else None, again,
    )  # fmt: skip


@dataclass(frozen=True)
class EvaluationPlan:
    """A checked call: what is evaluated on what."""

    model: str
    name: str
    loading: Loading
    device: str | None
    found: Plan
    mteb_tasks: Sequence[str]
    batch_size: int
    seeds: int
    cache: Path | None
    again: bool

    def run(self) -> Results:
        """Say what will run, and run it, keeping each result as it comes."""
        if self.mteb_tasks:
            from clusterns.evaluation.mteb import check_tasks

            check_tasks(self.mteb_tasks)

        from clusterns.encoder.load import load_model
        from clusterns.vectors.embed import Embedder
        from clusterns.vectors.fingerprint import fingerprint

        loading = self.loading.model_dump()
        encoder = load_model(self.model, device=self.device, **loading)
        embed = Embedder(encoder, self.batch_size, progress=True, cache=self.cache)
        facts = {
            "model": self.model,
            "fingerprint": fingerprint(encoder),
            **loading,
            "max_length": encoder.max_seq_length,
        }
        return self._run(embed, facts)

    def _run(self, embed: Embedder, facts: dict[str, Any]) -> Results:
        from clusterns.evaluation.runner import EvaluationContext, run_job, settings_of

        folder = self._folder(facts["fingerprint"])
        record = make_record(seed=1111, batch_size=self.batch_size, kmeans_seeds=self.seeds)
        context = EvaluationContext(embed, self.seeds, progress=True)

        def empty(job: Job) -> StoredResult:
            settings = settings_of(job, self.seeds)
            return StoredResult(
                job.suite, job.name, job.digest, self.name, dict(facts), settings, record, {}
            )

        wanted = {job: empty(job) for job in self.found.jobs}
        kept = {} if self.again else {
            job: earlier
            for job, one in wanted.items()
            if (earlier := find_stored(folder, one)) is not None
        }  # fmt: skip
        if shows_status():
            self.found.table(list(kept)).show(status)
        done: list[StoredResult] = []
        failed: list[UserError] = []
        for job, one in wanted.items():
            if job in kept:
                done.append(kept[job])
                continue
            start = time.perf_counter()
            try:
                outcome = run_job(context, job)
            except UserError as error:  # of this set: what the others take hours for goes on
                failed.append(error)
                log(f"{job.name} is left out: {error}")
                continue
            one.seconds = round(time.perf_counter() - start, 1)
            one.sets, one.model["dimension"] = outcome.sets, embed.dimension
            predictions = {
                job.suite: outcome.predictions,
                f"gold/{job.suite}": outcome.gold,
                f"clusters/{job.suite}": outcome.clusters,
            }
            one.predictions = {key: rows for key, rows in predictions.items() if rows is not None}
            one.write(folder)
            done.append(one)
        if not done:
            raise failed[0]
        results = join(done)
        results.name, results.record = self.name, record
        return results

    def _folder(self, fingerprint: str) -> Path:
        """Where results are kept."""
        run = Path(self.model)
        if (run / "model").is_dir():
            return run / FOLDER
        return cache_folder(FOLDER) / fingerprint


def _own_sets(pairs: Files, labelled: Files, queries: Files) -> list[EvaluationSet]:
    from clusterns.evaluation import custom as own

    return [
        *map(own.read_scored_pairs, _paths(pairs)),
        *map(own.read_labelled_texts, _paths(labelled)),
        *map(own.read_queries, _paths(queries)),
    ]


def _paths(files: Files) -> list[Path]:
    return [Path(files)] if isinstance(files, str | Path) else [Path(file) for file in files]
