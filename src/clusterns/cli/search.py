"""``clusterns search``: ask the text of a run, or any other."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from clusterns.cli.options import (
    BatchSize,
    Column,
    Device,
    DType,
    Dtype,
    Json,
    MaxLength,
    Model,
    Pooling,
    PromptName,
    TruncateDim,
)
from clusterns.console import print_json, stdout

if TYPE_CHECKING:
    from clusterns.vectors.hits import Hit


def search(
    model: Model,
    query: Annotated[
        str, typer.Argument(help="What to look for.", metavar="QUERY", show_default=False)
    ],
    corpus: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CORPUS]...",
            help="Where to look: a folder that `clusterns encode` wrote, or text as `clusterns "
            "encode` takes it. Without it: the text that the run was trained on.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many answers.")] = 10,
    column: Column = None,
    id_column: Annotated[
        str | None,
        typer.Option(help="Column of names to show with the text.", show_default=False),
    ] = None,
    json: Json = False,
    batch_size: BatchSize = 32,
    pooling: Pooling = None,
    max_length: MaxLength = None,
    prompt_name: PromptName = None,
    truncate_dim: TruncateDim = None,
    device: Device = None,
    dtype: Dtype = DType.float32,
) -> None:
    """Find the texts nearest to a query. What has the same text is one answer.

    The first search embeds the text and keeps the vectors: those of a run in RUN/index, others in
    the cache (~/.cache/clusterns, or where CLUSTERNS_CACHE says).

    The text of a run:    clusterns search runs/first "came too late"

    A file:               clusterns search runs/first "came too late" reviews.txt

    A folder of vectors:  clusterns search runs/first "came too late" vectors
    """
    from clusterns.api.search import plan_search

    plan = plan_search(
        model, query, corpus or (), top=top, column=column, id_column=id_column,
        batch_size=batch_size, pooling=pooling, max_length=max_length, prompt_name=prompt_name,
        truncate_dim=truncate_dim, device=device, dtype=dtype.value,
    )  # fmt: skip

    # From here on it takes its time.
    from rich.table import Table

    from clusterns.cli.quiet import quiet_libraries

    quiet_libraries()
    hits = plan.run()
    if json:
        print_json([asdict(hit) for hit in hits])
        return
    named = any(hit.name is not None for hit in hits)
    table = Table("score", "name", "text") if named else Table("score", "text")
    for hit in hits:
        text = f"row {hit.row:,}" if hit.text is None else hit.text
        table.add_row(f"{hit.score:.3f}", *([_names(hit), text] if named else [text]))
    stdout.print(table)


def _names(hit: Hit) -> str:
    """What an answer is called, and how many others have its text."""
    more = f" and {len(hit.also):,} more" if hit.also else ""
    return f"{hit.name or ''}{more}"
