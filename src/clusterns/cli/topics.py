"""``clusterns topics``: what a pile of sentences is about."""

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


def topics(
    model: Model,
    corpus: Annotated[
        list[str],
        typer.Argument(help="Text: files, folders or Hub datasets.", show_default=False),
    ],
    k: Annotated[
        int | None,
        typer.Option(
            "--k", min=1, max=1000, help="Number of topics. Without it: found from the text."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Write the topics to this .csv or .jsonl file, a row each.", show_default=False
        ),
    ] = None,
    sentences: Annotated[
        Path | None,
        typer.Option(
            help="Write the sentences with their topics to this .csv or .jsonl file, a row each; "
            "topic -1 is none.",
            show_default=False,
        ),
    ] = None,
    assign: Annotated[
        list[str] | None,
        typer.Option(
            help="New text whose sentences get the topics of the text; --sentences then writes "
            "these. May be given several times.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the clustering.")] = 0,
    column: Column = None,
    pooling: Pooling = None,
    max_length: MaxLength = None,
    prompt_name: PromptName = None,
    truncate_dim: TruncateDim = None,
    device: Device = None,
    dtype: Dtype = DType.float32,
) -> None:
    """Find topics: clusters of sentences, with their central sentences and typical words.

    Sentences that are no nearer to their topic than those of other topics are belong nowhere.

    clusterns topics runs/mine titles.txt

    clusterns topics runs/mine titles.txt --k 20 --output topics.csv --sentences titles.csv
    """
    from clusterns.corpus.sources import check_sources
    from clusterns.explore.export import check_kind
    from clusterns.vectors.place import check_model

    check_kind("--output", output)
    check_kind("--sentences", sentences)
    check_sources([*corpus, *(assign or [])])
    check_model(model, pooling)

    from rich.table import Table

    from clusterns.cli.quiet import quiet_libraries
    from clusterns.console import answers, say
    from clusterns.explore.corpus import lens_over, read_sentences
    from clusterns.explore.export import write_rows
    from clusterns.explore.topics import find_topics
    from clusterns.vectors.embed import Embedder

    quiet_libraries()
    read = read_sentences(corpus, column)
    if len(read.texts) < 2:
        raise UserError("there are fewer than two different sentences: nothing to group.")
    lens = lens_over(
        model,
        read,
        pooling=pooling,
        max_length=max_length,
        prompt_name=prompt_name,
        truncate_dim=truncate_dim,
        device=device,
        dtype=dtype.value,
    )
    found = find_topics(lens.vectors, read.texts, k, seed=seed)
    table = Table("topic", "size", "tightness", "words", "central sentence")
    for topic in found.topics:
        table.add_row(
            str(topic.number),
            f"{topic.size:,}",
            f"{topic.tightness:.2f}",
            ", ".join(topic.words[:6]),
            read.texts[topic.central[0]][:120] if topic.central else "",
        )
    answers.print(table)
    say(
        f"{len(read.texts):,} different sentences, {len(found.topics)} topics; "
        f"{found.nowhere:,} sentences belong nowhere."
    )
    if output is not None:
        write_rows(
            output,
            ("topic", "size", "tightness", "words", "central"),
            (
                (
                    t.number,
                    t.size,
                    round(t.tightness, 4),
                    t.words,
                    [read.texts[r] for r in t.central],
                )
                for t in found.topics
            ),
        )
        say(f"{len(found.topics):,} topics: {output}")
    labels, cosines = found.labels, found.cosines
    if assign:
        read = read_sentences(assign, column)
        labels, cosines = found.assign(Embedder(lens.model, progress=True)(read.texts))
        _say_assigned(labels.tolist(), len(read.texts))
    if sentences is not None:
        write_rows(
            sentences,
            ("line", "topic", "cosine", "text"),
            (
                (line, int(labels[row]), round(float(cosines[row]), 4), read.texts[row])
                for line, row in zip(read.lines, read.rows, strict=True)
            ),
        )
        say(f"{len(read.lines):,} sentences: {sentences}")


def _say_assigned(labels: list[int], count: int) -> None:
    from collections import Counter

    from rich.table import Table

    from clusterns.console import answers

    table = Table("topic", f"of {count:,} new sentences")
    for topic, size in Counter(labels).most_common():
        table.add_row("nowhere" if topic < 0 else str(topic), f"{size:,}")
    answers.print(table)
