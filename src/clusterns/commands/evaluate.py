"""``clusterns evaluate``: compute the scores of a model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge
from pydantic import Field

from clusterns.commands.options import (
    Files,
    Json,
    ModelOptions,
    OptionalPath,
    as_list,
    as_paths,
    check_suffixes,
)
from clusterns.commands.request import Cli, function
from clusterns.console import log, print_json, shows_status, status, stdout
from clusterns.encoder.locate import check_model, is_plain_encoder
from clusterns.errors import UserError
from clusterns.files import cache_folder
from clusterns.record import make_record

if TYPE_CHECKING:
    from clusterns.evaluation.datasets import EvaluationSet
    from clusterns.evaluation.plan import Job, Plan
    from clusterns.evaluation.results import Results
    from clusterns.evaluation.runner import EvaluationContext
    from clusterns.evaluation.stored import StoredResult

ALL = "all"


class EvaluateRequest(ModelOptions):
    """Evaluate an embedding model the way the paper does.

    Each result is stored as soon as it is computed: in RUN/evaluation for a run folder, else in the cache. A
    stored result with the same settings and versions is not computed again, so an interrupted evaluation resumes.
    Sets that are missing are listed and skipped.

    ```python
    from clusterns import evaluate

    results = evaluate("minibert", pooling="mean", pairs="pairs.csv")
    print(results.suites["own"].sets["pairs"].value)  # Spearman x 100
    ```
    """

    suites: Annotated[Files, Cli(list[str], ("--suite",))] = Field(default=(), kw_only=False)
    """sts: STS12-16, STS-B, SICK-R. transfer: MR, CR, SUBJ, MPQA, SST-2, TREC, MRPC with SentEval's classifier.
    clustering: eight short-text sets and DBpedia. geometry: alignment, uniformity, anisotropy on STS-B. all: these
    four. mteb: tasks of the mteb package. May be repeated. Default: sts, or only your own sets if you name some."""
    data: OptionalPath = None
    """Folder of the evaluation data: SentEval's layout, short-text files, DBpedia. Default: the folder in the
    variable CLUSTERNS_DATA. Missing data comes from `clusterns data fetch` or the Hugging Face Hub."""
    pairs: Files = ()
    """Your own scored pairs (csv, tsv, jsonl, parquet): sentence1, sentence2, score. FILE:COLUMN,COLUMN,... names
    other columns, or numbers them from 1 if there is no header. May be repeated."""
    labeled: Files = ()
    """Your own labeled texts for clustering: label, text. Files and columns as for pairs."""
    queries: Files = ()
    """Your own queries: query, relevant; one row per relevant text. All texts of the file are searched. Files and
    columns as for pairs."""
    retrieval: Files = ()
    """Folder of a retrieval collection, in BEIR's layout (corpus.jsonl, queries.jsonl, qrels/test.tsv) or as classic
    .I .T .W files; it is searched by vectors, by words and by both. May be repeated."""
    name: str | None = None
    """Name of the model in tables. Default: MODEL."""
    batch_size: Annotated[int, Ge(1)] = 32
    """Batch size."""
    kmeans_runs: Annotated[int, Ge(1)] = 10
    """K-means runs for each clustering set, with seeds 0, 1, ..."""
    cache: OptionalPath = None
    """Folder to cache embeddings in, by the model's fingerprint."""
    mteb_tasks: Annotated[Sequence[str], Cli(list[str], ("--mteb-task",))] = ()
    """Task of the mteb suite. May be repeated. Default: its STS tasks."""
    overwrite: bool = False
    """Recompute stored results."""

    def run(self) -> Results:
        """Find all data, print the plan, and compute the results that are not stored."""
        model, request = str(self.model), self
        if self.pooling is None and is_plain_encoder(model):
            log(f"{model} is a plain encoder: evaluating it with mean pooling (--pooling).")
            # As in Sentence Transformers.
            request = self.model_copy(update={"pooling": "mean"})
        else:
            check_model(model, self.pooling)
        return request._evaluate(request._plan())

    def _plan(self) -> Plan:
        """All sets, found before the model is loaded."""
        from clusterns.evaluation import custom
        from clusterns.evaluation.catalog import SUITES, EvaluationData
        from clusterns.evaluation.collection import read_collection
        from clusterns.evaluation.mteb import DEFAULT_TASKS, check_tasks
        from clusterns.evaluation.plan import MTEB, find_jobs

        own: list[EvaluationSet] = [
            *map(custom.read_scored_pairs, as_paths(self.pairs)),
            *map(custom.read_labeled_texts, as_paths(self.labeled)),
            *map(custom.read_queries, as_paths(self.queries)),
        ]
        collections = [read_collection(path) for path in as_paths(self.retrieval)]
        suites = as_list(self.suites) or ([] if own or collections else ["sts"])
        known = (*SUITES, MTEB, ALL)
        for suite in suites:
            if suite not in known:
                raise UserError(f"--suite {suite}: unknown suite. Choose from {', '.join(known)}.")
        tasks = (self.mteb_tasks or DEFAULT_TASKS) if MTEB in suites else ()
        data = EvaluationData(None if self.data is None else Path(self.data))
        chosen = [suite for suite in SUITES if suite in suites or ALL in suites]
        plan = find_jobs(chosen, data, own, tasks, collections)
        if tasks:
            check_tasks(tasks)
        return plan

    def _evaluate(self, plan: Plan) -> Results:
        from clusterns.encoder.load import length_limit, load_model
        from clusterns.evaluation.runner import EvaluationContext, settings_of
        from clusterns.evaluation.stored import FOLDER, StoredResult, find_stored, join
        from clusterns.vectors.embed import Embedder
        from clusterns.vectors.fingerprint import fingerprint

        encoder = load_model(str(self.model), device=self.device, **self.loading.model_dump())
        cache = None if self.cache is None else Path(self.cache)
        embed = Embedder(encoder, self.batch_size, progress=True, cache=cache)
        context = EvaluationContext(embed, self.kmeans_runs, progress=True)
        name, run = self.name or str(self.model), Path(self.model)
        facts = {
            "model": str(self.model), "fingerprint": fingerprint(encoder),
            **self.loading.model_dump(), "max_length": length_limit(encoder),
        }  # fmt: skip
        is_run = (run / "model").is_dir()
        folder = run / FOLDER if is_run else cache_folder(FOLDER) / facts["fingerprint"]
        record = make_record(seed=1111, batch_size=self.batch_size, kmeans_seeds=self.kmeans_runs)
        wanted = {
            job: StoredResult(
                job.suite, job.name, job.digest, name, dict(facts),
                settings_of(job, self.kmeans_runs), record, {},
            )
            for job in plan.jobs
        }  # fmt: skip
        found = {} if self.overwrite else {j: find_stored(folder, one) for j, one in wanted.items()}
        stored = {job: one for job, one in found.items() if one is not None}
        if shows_status():
            plan.table(list(stored)).show(status)
        done: list[StoredResult] = []
        failed: list[UserError] = []
        for job, one in wanted.items():
            if job in stored:
                done.append(stored[job])
                continue
            try:
                _compute(context, job, one)
            except UserError as error:  # of this set: the others may take hours
                failed.append(error)
                log(f"{job.name} is skipped: {error}")
                continue
            one.store(folder)
            done.append(one)
        if not done:
            raise failed[0]
        results = join(done)
        results.name, results.record = name, record
        return results


def _compute(context: EvaluationContext, job: Job, into: StoredResult) -> None:
    """Compute one set."""
    from clusterns.evaluation.runner import run_job

    start = time.perf_counter()
    into.sets, into.predictions = run_job(context, job)
    into.seconds = round(time.perf_counter() - start, 1)
    into.model["dimension"] = context.embed.dimension


class EvaluateCommand(EvaluateRequest):
    """Evaluate an embedding model the way the paper does.

    A table shows the planned and the missing sets. Each result is stored as soon as it is computed, so an
    interrupted evaluation resumes.

    Example: clusterns evaluate sentence-transformers/all-MiniLM-L6-v2 --suite all --data SentEval
    """

    output: Files = ()
    """Write the results to this file: .json (what `clusterns compare` reads, with the predictions per example in a
    .npz next to it), .md or .tex. May be repeated. A run folder always keeps its results, in RUN/evaluation."""
    as_json: Json = False

    def perform(self) -> None:
        """Refuse output files with an unknown extension before any work."""
        check_suffixes("--output", self.output, ".json", ".md", ".tex")
        super().perform()

    def resume_hint(self) -> str:
        return "Finished results are stored: run the same command again to continue."

    def show(self, result: Results) -> None:
        """Print and write the tables."""
        from clusterns.evaluation.tables import results_tables
        from clusterns.tables import write_tables

        tables = results_tables([result])
        if self.as_json:
            print_json(result.plain())
        else:
            for table in tables:
                table.show(stdout)
        for path in as_paths(self.output):
            if path.suffix.lower() == ".json":
                result.write(path)
            else:
                write_tables(path, tables)
            log(f"Wrote {path}.")


evaluate = function(EvaluateRequest)
