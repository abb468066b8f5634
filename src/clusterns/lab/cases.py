"""A case study: sentences of the text that a trained model puts together, the paper's Table 10.

It shows other people's sentences, so it is drawn from the models themselves and kept in no record.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clusterns.console import log
from clusterns.data.corpus import prepare_corpus
from clusterns.encoder.load import load_model
from clusterns.explorer.corpus import cached_index
from clusterns.explorer.topics import find_topics
from clusterns.lab.cells import Cell
from clusterns.tables import Table
from clusterns.training.folder import RunFolder

SAMPLE = 4000  # sentences of the text
CLUSTERS = 32  # of which the largest are shown
CENTRAL = 3  # sentences of each
WORDS = 3
SEED = 0


def case_tables(cells: Sequence[Cell], shown: int) -> list[Table]:
    """The largest clusters of the text for every line, with the first of its seeds whose model is here."""
    here: dict[str, Cell] = {}
    for cell in cells:
        if RunFolder(cell.folder / "run").is_finished:
            here.setdefault(cell.line, cell)
    for line in dict.fromkeys(cell.line for cell in cells if cell.line not in here):
        log(f"{line}: no model is here; `clusterns lab run` trains it.")
    return [_table(cell, shown) for cell in here.values()]


def _table(cell: Cell, shown: int) -> Table:
    run = RunFolder(cell.folder / "run")
    dataset = prepare_corpus(**run.record["corpus"]["reading"]).dataset
    rows = np.random.default_rng(SEED).permutation(len(dataset))[:SAMPLE]
    texts = dataset.select(np.sort(rows))["text"][:]
    vectors = cached_index(load_model(str(run.path)), cell.name, texts).vectors
    found = find_topics(vectors, texts, min(CLUSTERS, len(texts)), seed=SEED, progress=False)
    table = Table(
        f"Clusters of {cell.name}", ["size", "cosine", "sentence"], mark_best=False, corner="Words"
    )
    for topic in found.topics[:shown]:
        for place, row in enumerate(topic.central[:CENTRAL]):
            head = ", ".join(topic.words[:WORDS]) if place == 0 else ""
            size = f"{topic.size:,}" if place == 0 else None
            table.rows.append((head, [size, f"{found.cosines[row]:.2f}", texts[row]]))
    table.notes.append(
        f"The {min(shown, len(found.topics))} largest of {len(found.topics)} clusters of {len(texts):,} sentences "
        "of the text, with their typical words and central sentences; cosine with the centroid of the cluster."
    )
    return table
