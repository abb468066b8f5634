"""``clusterns topics``: what a corpus is about."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from rich.tree import Tree

    from clusterns.explorer.topics import Topics


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"--merge {text}: give the numbers of topics, such as 3,7.") from None


def topics(
    model: Model,
    corpus: Annotated[
        list[str] | None,
        typer.Argument(
            help="Text: files, folders, Hub datasets, or a folder that `clusterns encode` wrote. "
            "Default: the corpus of the run.",
            show_default=False,
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--k", min=1, max=1000, help="Number of topics. Default: chosen from the text."
        ),
    ] = None,
    merge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N,N,...",
            help="Merge these topics. May be given several times.",
            show_default=False,
        ),
    ] = None,
    merge_to: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Merge the most similar topics until this many remain.",
            show_default=False,
        ),
    ] = None,
    tree: Annotated[bool, typer.Option("--tree", help="Show how topics merge, as a tree.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(help="Write the topics to this .csv or .jsonl file.", show_default=False),
    ] = None,
    sentences: Annotated[
        Path | None,
        typer.Option(
            help="Write the sentences with their topics to this .csv or .jsonl file; outliers have "
            "topic -1.",
            show_default=False,
        ),
    ] = None,
    assign: Annotated[
        list[str] | None,
        typer.Option(
            help="New text to assign to the topics; --sentences then writes its sentences. May be "
            "given several times.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    column: Column = None,
    pooling: Pooling = None,
    max_length: MaxLength = None,
    prompt_name: PromptName = None,
    truncate_dim: TruncateDim = None,
    device: Device = None,
    dtype: Dtype = DType.float32,
) -> None:
    """Find topics: clusters of sentences, with their keywords and central sentences.

    Sentences that are no closer to their topic's centroid than outsiders stay unassigned (topic -1).

    clusterns topics runs/mine titles.txt

    clusterns topics runs/mine titles.txt --k 20 --output topics.csv --sentences titles.csv
    """
    from clusterns.explorer.corpus import check_corpus

    groups = [_numbers(text) for text in merge or ()]
    check_corpus(model, corpus or (), pooling, assign or (), output=output, sentences=sentences)

    from rich.table import Table

    from clusterns.cli.quiet import quiet_libraries
    from clusterns.console import log, stdout
    from clusterns.explorer.topics import topics as find

    quiet_libraries()
    result = find(
        model, corpus or (), k=k, merge=groups, merge_to=merge_to, assign=assign or (),
        output=output, sentences=sentences, seed=seed, column=column, pooling=pooling,
        max_length=max_length, prompt_name=prompt_name, truncate_dim=truncate_dim, device=device,
        dtype=dtype.value,
    )  # fmt: skip
    found = result.topics
    table = Table("topic", "size", "cohesion", "keywords", "central sentence")
    for topic in found.topics:
        central = found.texts[topic.central[0]][:120] if topic.central else ""
        words = ", ".join(topic.words[:6])
        table.add_row(str(topic.number), f"{topic.size:,}", f"{topic.cohesion:.2f}", words, central)
    stdout.print(table)
    if tree and found.tree:
        stdout.print(_tree(found, found.tree[-1].number))
    log(
        f"{len(found.labels):,} different sentences in {len(found.topics)} topics; "
        f"{found.outliers:,} outliers."
    )
    if assign:
        labels = result.labels.tolist()
        table = Table("topic", f"of {len(labels):,} new sentences")
        for topic, size in Counter(labels).most_common():
            table.add_row("none" if topic < 0 else str(topic), f"{size:,}")
        stdout.print(table)


def _tree(found: Topics, number: int, parent: Tree | None = None) -> Tree:
    """The hierarchy of topics below a node."""
    from rich.tree import Tree

    count = len(found.topics)
    if number < count:
        topic = found.topics[number]
        text = f"{number}: {', '.join(topic.words[:5])} ({topic.size:,})"
        return Tree(text) if parent is None else parent.add(text)
    node = found.tree[number - count]
    text = f"{', '.join(node.words[:5])} ({node.size:,}; cosine {node.cosine:.2f})"
    branch = Tree(text) if parent is None else parent.add(text)
    for child in node.children:
        _tree(found, child, branch)
    return branch
