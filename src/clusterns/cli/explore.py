"""``clusterns explore``: the sentences as a map in the browser, with search, topics and changes."""

from __future__ import annotations

from pathlib import Path
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
from clusterns.errors import UserError


def explore(
    model: Model,
    corpus: Annotated[
        list[str] | None,
        typer.Argument(
            help="Text to explore: files, folders, Hub datasets, or a folder that `clusterns "
            "encode` wrote. Without it: the text that the run was trained on.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Another model to compare with; `base` is the one that the run began with.",
            show_default=False,
        ),
    ] = None,
    against_pooling: Annotated[
        str | None,
        typer.Option(help="--pooling of the model to compare with.", show_default=False),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--k", min=1, max=1000, help="Number of topics. Without it: found from the text."
        ),
    ] = None,
    most: Annotated[int, typer.Option(min=2, help="Read at most so many sentences.")] = 200_000,
    column: Column = None,
    pooling: Pooling = None,
    max_length: MaxLength = None,
    prompt_name: PromptName = None,
    truncate_dim: TruncateDim = None,
    device: Device = None,
    dtype: Dtype = DType.float32,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on this machine; 0 is any free one.")
    ] = 0,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Explore sentences in the browser: a map, search as you type, topics, what training changed.

    Everything runs on this machine and answers to it alone. Vectors, neighbours and maps are
    computed once and kept.

    A run and its text:        clusterns explore runs/mine

    Beside what it began with: clusterns explore runs/mine --against base

    Other text:                clusterns explore runs/mine titles.txt
    """
    from clusterns.corpus.sources import check_sources
    from clusterns.training.folder import RunFolder
    from clusterns.vectors.manifest import MANIFEST
    from clusterns.vectors.place import check_model

    if corpus and not (Path(corpus[0]) / MANIFEST).is_file():
        check_sources(corpus)
    check_model(model, pooling)
    if against not in (None, "base"):
        check_model(against, against_pooling)
    if against == "base" and not (Path(model) / "run.json").is_file():
        raise UserError(
            f"--against base: {model} is no run folder; name the model to compare with."
        )
    if not corpus and not RunFolder(Path(model)).is_finished:
        raise UserError(
            f"{model} is no finished run with a text of its own: name the text to explore."
        )

    from clusterns.cli.quiet import quiet_libraries
    from clusterns.console import answers, say
    from clusterns.explore.corpus import open_lens, open_other, short
    from clusterns.explore.explorer import Scene
    from clusterns.explore.server import listen, serve
    from clusterns.explore.topics import find_topics

    quiet_libraries()
    options = {
        "max_length": max_length,
        "prompt_name": prompt_name,
        "truncate_dim": truncate_dim,
        "device": device,
        "dtype": dtype.value,
    }
    with listen(port) as where:
        lens = open_lens(model, corpus or [], column=column, most=most, pooling=pooling, **options)
        if len(lens) < 3:
            raise UserError("there are fewer than three sentences: nothing to see.")
        lenses = [lens]
        if against is not None:
            lenses.append(
                open_other(against, lens, Path(model), pooling=against_pooling, **options)
            )
        topics = find_topics(lens.vectors, lens.index.texts.to_pylist(), k)
        scene = Scene(short(corpus[0]) if corpus else short(model), lenses, topics)
        scene.maps.refine()
        _ = scene.change
        address = f"http://127.0.0.1:{where.getsockname()[1]}/"
        answers.print(f"Open {address}")
        say("Ctrl-C ends it.")
        if open_:
            import webbrowser

            webbrowser.open(address)
        serve(scene, where)
        say("Ended.")
