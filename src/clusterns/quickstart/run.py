"""The quickstart: train on the docstrings of this environment, prove it, and search them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer

from clusterns.console import log, stdout
from clusterns.data.docstrings import docstring_corpus
from clusterns.data.split import split_heldout
from clusterns.encoder.load import load_base
from clusterns.encoder.locate import resolve_base
from clusterns.evaluation.validators import HalvesEvaluator
from clusterns.files import write_json
from clusterns.methods.registry import get_part, keys_of
from clusterns.quickstart.earlier import INDEX, PROOF, RECIPE, SIMCSE
from clusterns.quickstart.proof import FIGURES, Proof
from clusterns.reports.page import report_after
from clusterns.tables import Table
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import load_recipe
from clusterns.training.run import train
from clusterns.vectors.index import Index

# A docstring is a document: what it says in one sentence is what it says in the next.
POSITIVES = {"positives": "document"}


def quickstart(
    output: Path,
    changes: dict[str, Any] | None = None,
    *,
    quiet: bool = False,
    report: bool = True,
) -> dict[str, dict[str, float]]:
    """Train ClusterNS and SimCSE on docstrings, compare both with the base, index for search.

    Args:
        output: run folder of ClusterNS; SimCSE's lies in it.
        changes: settings that differ from the recipe.
        quiet: no progress bars.
        report: whether to write one about both runs.
    """
    begun = time.monotonic()
    text = docstring_corpus(progress=not quiet)
    log(text.report.summary())
    changes = {**POSITIVES, **(changes or {})}
    recipe = load_recipe(RECIPE, changes)
    clustering = keys_of(get_part("clustering"))
    shared = {k: v for k, v in changes.items() if k not in clustering}
    plain = load_recipe(RECIPE, {**shared, "method": "simcse"})
    rows, heldout = split_heldout(text.corpus.dataset, recipe.heldout, recipe.seed)
    facts = {"fingerprint": text.corpus.fingerprint, "docstrings": text.report.as_dict()}

    folders = {"ClusterNS": RunFolder(output), "SimCSE": RunFolder(output / SIMCSE)}
    for (name, folder), settings in zip(folders.items(), (recipe, plain), strict=True):
        log(f"Training {name}, {settings.max_steps} steps of {settings.batch_size} sentences:")
        train(settings, rows, HalvesEvaluator(heldout), folder, corpus=facts, quiet=quiet)

    proof = Proof(text.objects)
    log(
        f"Measuring: {len(proof.summaries):,} docstrings kept out of training, and "
        f"{len(proof.queries)} questions over {len(proof.answers):,} functions and classes."
    )
    models = {
        "untrained": load_base(resolve_base(recipe.base), recipe.pooling),
        **{name: SentenceTransformer(str(folder.model)) for name, folder in folders.items()},
    }
    results = {name: proof(model) for name, model in models.items()}
    write_json(output / PROOF, results)
    proof_table(results).show(stdout)
    log("Embedding all documented objects for the search:")
    objects = text.objects
    Index.build(
        output / INDEX,
        models["ClusterNS"],
        objects["summary"],
        objects["name"],
        model_name=str(output),
        progress=not quiet,
    )
    written = (
        report_after([folder.path for folder in folders.values()], heldout) if report else None
    )
    log(f"Done in {time.monotonic() - begun:.0f} s. Now ask it something, or look at all of it:")
    stdout.print(f'  clusterns search {output} "sort an array along an axis"', soft_wrap=True)
    stdout.print(f"  clusterns explore {output} --against base", soft_wrap=True)
    if written is not None:
        stdout.print(f"The report: {written.resolve().as_uri()}", soft_wrap=True)
    return results


def proof_table(results: dict[str, dict[str, float]]) -> Table:
    """The figures of several models side by side, the best in bold."""
    return Table(
        "",
        [f"{one.name} {'↑' if one.higher_is_better else '↓'}" for one in FIGURES.values()],
        [(name, [figures[key] for key in FIGURES]) for name, figures in results.items()],
        lower_is_better=[not one.higher_is_better for one in FIGURES.values()],
        digits=3,
        corner="on docstrings",
    )
