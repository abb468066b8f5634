"""The quickstart: train on the docstrings of this environment, measure the gain, index them for search."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer

from clusterns.console import log, shows_status, stdout
from clusterns.data.docstrings import docstring_corpus
from clusterns.data.split import split_heldout
from clusterns.encoder.load import load_base
from clusterns.encoder.locate import resolve_base
from clusterns.evaluation.validators import HalvesEvaluator
from clusterns.files import write_json
from clusterns.methods.registry import get_part, keys_of
from clusterns.quickstart.benchmark import MEASURES, DocstringBenchmark
from clusterns.quickstart.folder import INDEX, RECIPE, SCORES, SIMCSE
from clusterns.reports.page import report_after
from clusterns.tables import Table
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import load_recipe
from clusterns.training.run import train
from clusterns.vectors.index import Index

# A docstring is a document: what it says in one sentence is what it says in the next.
POSITIVES = {"positives": "document"}


def quickstart(
    output: Path, changes: Mapping[str, Any] | None = None, *, report: bool = True
) -> dict[str, dict[str, float]]:
    """Train ClusterNS and SimCSE on docstrings, compare both with the base, index for search.

    Args:
        output: run folder of ClusterNS; SimCSE's is inside it.
        changes: settings that differ from the recipe.
        report: whether to write one about both runs.
    """
    began = time.monotonic()
    text = docstring_corpus()
    log(text.report.summary())
    changes = {**POSITIVES, **(changes or {})}
    recipe = load_recipe(RECIPE, changes)
    clustering = keys_of(get_part("clustering"))
    shared = {key: value for key, value in changes.items() if key not in clustering}
    plain = load_recipe(RECIPE, {**shared, "method": "simcse"})
    rows, heldout = split_heldout(text.corpus.dataset, recipe.heldout, recipe.seed)
    facts = {"fingerprint": text.corpus.fingerprint, "docstrings": text.report.as_dict()}

    folders = {"ClusterNS": RunFolder(output), "SimCSE": RunFolder(output / SIMCSE)}
    for (name, folder), settings in zip(folders.items(), (recipe, plain), strict=True):
        log(f"Training {name}: {settings.max_steps} steps of {settings.batch_size} sentences")
        train(
            settings, rows, HalvesEvaluator(heldout), folder, corpus=facts, quiet=not shows_status()
        )

    benchmark = DocstringBenchmark(text.objects)
    log(
        f"Measuring: {len(benchmark.summaries):,} held-out docstrings, and {len(benchmark.queries)} questions over "
        f"{len(benchmark.candidates):,} functions and classes"
    )
    models = {"untrained": load_base(resolve_base(recipe.base), recipe.pooling)}
    models |= {name: SentenceTransformer(str(folder.model)) for name, folder in folders.items()}
    scores = {name: benchmark(model) for name, model in models.items()}
    write_json(output / SCORES, scores)
    scores_table(scores).show(stdout)
    log("Embedding all documented objects for search")
    names, summaries = text.objects["name"], text.objects["summary"]
    index = output / INDEX
    Index.build(index, models["ClusterNS"], summaries, names, model_name=str(output))
    page = report_after([folder.path for folder in folders.values()], heldout) if report else None
    log(f"Done in {time.monotonic() - began:.0f} s. Now search it, or explore all of it:")
    stdout.print(f'  clusterns search {output} "sort an array along an axis"', soft_wrap=True)
    stdout.print(f"  clusterns explore {output} --against base", soft_wrap=True)
    if page is not None:
        stdout.print(f"Report: {page.resolve().as_uri()}", soft_wrap=True)
    return scores


def scores_table(scores: Mapping[str, Mapping[str, float]]) -> Table:
    """The measures of several models side by side, the best in bold."""
    return Table(
        "",
        list(MEASURES.values()),
        [(name, [measured[key] for key in MEASURES]) for name, measured in scores.items()],
        lower_is_better=[label.endswith("↓") for label in MEASURES.values()],
        digits=3,
        corner="on docstrings",
    )
