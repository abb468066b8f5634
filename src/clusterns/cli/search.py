"""``clusterns search``: ask the text of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clusterns.errors import UserError


def search(
    run: Annotated[Path, typer.Argument(help="A run folder.", show_default=False)],
    query: Annotated[str, typer.Argument(help="What to look for.", show_default=False)],
    top: Annotated[int, typer.Option(min=1, help="How many answers.")] = 10,
) -> None:
    """Search the corpus of a run with its model.

    The first search embeds the corpus and keeps the vectors in the run folder (RUN/index).

    clusterns search runs/quickstart "sort an array along an axis"
    """
    from rich.table import Table
    from sentence_transformers import SentenceTransformer

    from clusterns.cli.quiet import quiet_libraries
    from clusterns.console import answers, say
    from clusterns.corpus.prepare import prepare_corpus
    from clusterns.training.folder import RunFolder
    from clusterns.vectors.index import Index
    from clusterns.vectors.manifest import COMPLETE

    quiet_libraries()
    folder = RunFolder(run)
    if not folder.is_finished:
        raise UserError(f"{run} holds no finished run: train one with `clusterns train`.")
    if not query.strip():
        raise UserError("the query is empty.")
    model = SentenceTransformer(str(folder.model))
    path = folder.path / "index"
    if (path / COMPLETE).is_file():
        index = Index.open(path, model, model_name=str(run))
    else:
        reading = folder.record["corpus"].get("reading")
        if reading is None:
            raise UserError(f"{run} was stopped before its index: `clusterns quickstart --again`.")
        text = prepare_corpus(**reading)
        say(f"Embedding {len(text.dataset):,} sentences, once.")
        index = Index.build(path, model, text.dataset["text"], model_name=str(run))
    table = Table("score", "name", "text") if index.names is not None else Table("score", "text")
    for hit in index.search(model, query, top):
        texts = [hit.text or ""] if hit.name is None else [hit.name, hit.text or ""]
        table.add_row(f"{hit.score:.3f}", *texts)
    answers.print(table)
