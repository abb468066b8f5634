"""``clusterns explore``: sentences as a map in the browser, with search, topics and changes."""

from __future__ import annotations

from typing import Annotated

import typer

from clusterns.cli.options import (
    Column,
    Device,
    DType,
    Dtype,
    MaxLength,
    Model,
    Pooling,
    PromptName,
    TruncateDim,
)


def explore(
    model: Model,
    corpus: Annotated[
        list[str] | None,
        typer.Argument(
            help="Text to explore: files, folders, Hub datasets, or a folder that `clusterns "
            "encode` wrote. Default: the corpus of the run.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Another model to compare with; `base` is the one that the run started from.",
            show_default=False,
        ),
    ] = None,
    against_pooling: Annotated[
        str | None,
        typer.Option(help="Pooling of the model to compare with.", show_default=False),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--k", min=1, max=1000, help="Number of topics. Default: chosen from the text."
        ),
    ] = None,
    max_sentences: Annotated[
        int, typer.Option(min=2, help="Read at most this many sentences.")
    ] = 200_000,
    column: Column = None,
    pooling: Pooling = None,
    max_length: MaxLength = None,
    prompt_name: PromptName = None,
    truncate_dim: TruncateDim = None,
    device: Device = None,
    dtype: Dtype = DType.float32,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on this machine; 0 picks a free one.")
    ] = 0,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Explore sentences in the browser: a map, search as you type, topics, what training changed.

    Everything stays on this machine. Embeddings, neighbors and maps are computed once and stored.

    A run and its corpus:  clusterns explore runs/mine

    Next to its base:      clusterns explore runs/mine --against base

    Other text:            clusterns explore runs/mine titles.txt
    """
    from clusterns.explorer.explorer import check_explorer

    check_explorer(model, corpus or (), against, pooling, against_pooling)

    from clusterns.cli.quiet import quiet_libraries
    from clusterns.explorer.server import explore as serve

    quiet_libraries()
    serve(
        model, corpus or (), against=against, against_pooling=against_pooling, k=k,
        max_sentences=max_sentences, column=column, pooling=pooling, max_length=max_length,
        prompt_name=prompt_name, truncate_dim=truncate_dim, device=device, dtype=dtype.value,
        port=port, open_browser=open_,
    )  # fmt: skip
