"""The quickstart: train on the docstrings of this environment, measure the gain, and search."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from clusterns.console import log, shows_status, stdout
from clusterns.data.docstrings import docstring_corpus
from clusterns.data.split import split_rows
from clusterns.encoder.load import load_base
from clusterns.encoder.locate import resolve_base
from clusterns.evaluation.validators import HalvesEvaluator
from clusterns.files import write_json
from clusterns.quickstart.benchmark import MEASURES, TOP, DocstringBenchmark
from clusterns.quickstart.folder import CLUSTERNS, INDEX, RECIPE, SCORES
from clusterns.reports.page import report_after
from clusterns.tables import Table
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import load_recipe
from clusterns.training.run import train
from clusterns.vectors.index import Index

# A docstring is a document: its sentences are positives of each other. Each validation takes seconds.
CLUSTERNS_SETTINGS = {"positives": "document", "eval_steps": 75}
# Smaller than the defaults, for speed.
STATIC_SETTINGS = {
    "method": "static", "vocabulary_size": 8_000, "dimensions": 512, "contrast_steps": 300,
}  # fmt: skip
# Example questions, fixed in advance.
SHOWN_QUESTIONS = (
    "sort an array along an axis",
    "join two tables on a common column",
    "convert text to dates",
)


def quickstart(
    output: Path, changes: Mapping[str, Any] | None = None, *, report: bool = True
) -> dict[str, dict[str, float]]:
    """Train static embeddings and ClusterNS on docstrings, compare both with the base, and build a search index.

    Args:
        output: run folder of the static embeddings; the ClusterNS run folder is inside it.
        changes: settings of ClusterNS that differ from the recipe.
        report: whether to write a report about both runs.
    """
    began = time.monotonic()
    text = docstring_corpus()
    log(text.report.summary())
    recipe = load_recipe(RECIPE, {**CLUSTERNS_SETTINGS, **(changes or {})})
    shared = {"seed": recipe.seed, "heldout": recipe.heldout, "base": recipe.base}
    recipes = {"static": load_recipe(RECIPE, {**STATIC_SETTINGS, **shared}), "ClusterNS": recipe}
    folders = {"static": RunFolder(output), "ClusterNS": RunFolder(output / CLUSTERNS)}
    rows, heldout_rows = split_rows(text.corpus.dataset, recipe.heldout, recipe.seed)
    heldout = list(heldout_rows["text"])
    facts = {"fingerprint": text.corpus.fingerprint, "docstrings": asdict(text.report)}
    quiet = not shows_status()
    for name, folder in folders.items():
        log(f"Training {name}")
        train(recipes[name], rows, HalvesEvaluator(heldout), folder, corpus=facts, quiet=quiet)

    benchmark = DocstringBenchmark(text.objects)
    log(
        f"Measuring: {len(benchmark.summaries):,} held-out docstrings, and {len(benchmark.queries)} questions over "
        f"{len(benchmark.candidates):,} functions and classes"
    )
    models = {"untrained": load_base(resolve_base(recipe.base), recipe.pooling)}
    models |= {name: SentenceTransformer(str(folder.model)) for name, folder in folders.items()}
    scores = {name: benchmark(model) for name, model in models.items()}
    table = Table(
        "",
        list(MEASURES.values()),
        [(name, [found[key] for key in MEASURES]) for name, found in scores.items()],
        lower_is_better=[label.endswith("↓") for label in MEASURES.values()],
        digits=3,
        corner="on docstrings",
    )
    table.show(stdout)
    log("Embedding all documented objects for search")
    model, names = models["static"], text.objects["name"][:]
    # The last part of a name is often the search term.
    texts = [
        f"{name.rpartition('.')[2]}: {summary}"
        for name, summary in zip(names, text.objects["summary"], strict=True)
    ]
    index = Index.build(output / INDEX, model, texts, names, model_name=str(output))
    # Search by words and vectors, among the candidates of the benchmark.
    where = np.isin(np.array(index.ids.to_pylist()), benchmark.candidates["name"])
    results = index.search_many(model, list(benchmark.queries), TOP, where=where)
    right = [
        any(hit.name in answers for hit in hits)
        for hits, answers in zip(results, benchmark.queries.values(), strict=True)
    ]
    scores["static"]["queries_with_words"] = float(np.mean(right))
    write_json(output / SCORES, scores)
    page = report_after([folder.path for folder in folders.values()], heldout) if report else None

    before, after = (scores[name]["queries_found"] for name in ("untrained", "static"))
    log(
        f"Questions answered in the first {TOP}: {before:.0%} untrained, {after:.0%} by static vectors, "
        f"{np.mean(right):.0%} by words and vectors. For example:"
    )
    for question in SHOWN_QUESTIONS:
        hits = index.search(model, question, 3)
        stdout.print(f'  "{question}": {", ".join(str(hit.name) for hit in hits)}', soft_wrap=True)
    log(f"Done in {time.monotonic() - began:.0f} s. Now search or explore it:")
    stdout.print(
        f'  clusterns search {output} "{SHOWN_QUESTIONS[0]}"\n  clusterns explore {output} --against base',
        soft_wrap=True,
    )
    if page is not None:
        stdout.print(f"Report: {page.resolve().as_uri()}", soft_wrap=True)
    return scores
