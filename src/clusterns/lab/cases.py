"""A case study: clusters of sentences found by a trained model, as in the paper's Table 10.

The table quotes third-party text, so it is made from the trained models and is never stored in a record.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clusterns.console import log
from clusterns.data.corpus import prepare_corpus
from clusterns.encoder.load import load_model
from clusterns.explorer.corpus import cached_index
from clusterns.explorer.topics import find_topics
from clusterns.lab.trial import Trial
from clusterns.tables import Table
from clusterns.training.folder import RunFolder

SAMPLE = 4000  # sentences sampled from the text
CLUSTERS = 32  # clusters to find; only the largest are shown
CENTRAL = 3  # sentences shown for each cluster
WORDS = 3
SEED = 0


def case_tables(trials: Sequence[Trial], shown: int) -> list[Table]:
    """A table per experiment row: its largest clusters, from the first seed with a trained model."""
    here: dict[str, Trial] = {}
    for trial in trials:
        if RunFolder(trial.folder / "run").is_finished:
            here.setdefault(trial.line, trial)
    for line in dict.fromkeys(trial.line for trial in trials if trial.line not in here):
        log(f"{line}: no trained model; train it with `clusterns lab run`.")
    return [_table(trial, shown) for trial in here.values()]


def _table(trial: Trial, shown: int) -> Table:
    run = RunFolder(trial.folder / "run")
    dataset = prepare_corpus(**run.record["corpus"]["reading"]).dataset
    rows = np.random.default_rng(SEED).permutation(len(dataset))[:SAMPLE]
    texts = dataset.select(np.sort(rows))["text"][:]
    vectors = cached_index(load_model(str(run.path)), trial.name, texts).vectors
    found = find_topics(vectors, texts, min(CLUSTERS, len(texts)), seed=SEED, progress=False)
    table = Table(
        f"Clusters of {trial.name}", ["size", "cosine", "sentence"], mark_best=False, corner="Words"
    )
    for topic in found.topics[:shown]:
        for number, row in enumerate(topic.central[:CENTRAL]):
            head = ", ".join(topic.words[:WORDS]) if number == 0 else ""
            size = f"{topic.size:,}" if number == 0 else None
            table.rows.append((head, [size, f"{found.cosines[row]:.2f}", texts[row]]))
    table.notes.append(
        f"The {min(shown, len(found.topics))} largest of {len(found.topics)} clusters of {len(texts):,} sentences "
        "of the text, with their typical words and central sentences; cosine with the centroid of the cluster."
    )
    return table
