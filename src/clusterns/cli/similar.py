"""``clusterns similar``: near-duplicates."""

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

SHOWN = 5  # lines of a group


def similar(
    model: Model,
    corpus: Annotated[
        list[str] | None,
        typer.Argument(
            help="Text: files, folders, Hub datasets, or a folder that `clusterns encode` wrote. "
            "Default: the corpus of the run.",
            show_default=False,
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option(min=-1, max=1, help="Minimum cosine of near-duplicates.")
    ] = 0.9,
    pairs: Annotated[
        Path | None,
        typer.Option(help="Write all pairs to this .csv or .jsonl file.", show_default=False),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(help="Write all groups to this .csv or .jsonl file.", show_default=False),
    ] = None,
    deduplicated: Annotated[
        Path | None,
        typer.Option(
            help="Write the text without near-duplicates to this file. A line is removed only if "
            "it duplicates an earlier line that is kept.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="Number of groups to show.")] = 10,
    column: Column = None,
    pooling: Pooling = None,
    max_length: MaxLength = None,
    prompt_name: PromptName = None,
    truncate_dim: TruncateDim = None,
    device: Device = None,
    dtype: Dtype = DType.float32,
) -> None:
    """Find near-duplicates: pairs of sentences above a threshold, and the groups they connect.

    Cosines differ from model to model: the table shows what each threshold would give.

    clusterns similar runs/mine titles.txt

    clusterns similar runs/mine titles.txt --threshold 0.95 --deduplicated clean.txt
    """
    from clusterns.explorer.corpus import check_corpus

    check_corpus(model, corpus or (), pooling, pairs=pairs, groups=groups)

    from rich.table import Table

    from clusterns.cli.quiet import quiet_libraries
    from clusterns.console import log, stdout
    from clusterns.explorer.duplicates import LARGE_GROUP
    from clusterns.explorer.duplicates import similar as find

    quiet_libraries()
    found = find(
        model, corpus or (), threshold=threshold, pairs=pairs, groups=groups,
        deduplicated=deduplicated, column=column, pooling=pooling, max_length=max_length,
        prompt_name=prompt_name, truncate_dim=truncate_dim, device=device, dtype=dtype.value,
    )  # fmt: skip
    lines, alike = found.lines.lines, found.groups
    table = Table("threshold", "pairs", "groups", "largest", "removed", "kept")
    for level in found.levels:
        mark = "> " if level.threshold == threshold else ""
        counts = (level.pairs, level.groups, level.largest, level.removed)
        cells = [f"{count:,}" for count in (*counts, len(lines) - level.removed)]
        table.add_row(f"{mark}{level.threshold:g}", *cells)
    stdout.print(table)
    if alike and len(alike[0]) > max(LARGE_GROUP, len(lines) // 10):
        log(
            f"The largest group holds {len(alike[0]):,} of {len(lines):,} lines: {threshold:g} is "
            "low for this model. Choose a higher --threshold from the table."
        )
    if alike and top:
        table = Table("line", "text", title=f"{len(alike):,} groups at {threshold:g}")
        for group in alike[:top]:
            for row in group[:SHOWN]:
                table.add_row(f"{lines[row]:,}", found.text(row)[:200])
            if len(group) > SHOWN:
                table.add_row("", f"and {len(group) - SHOWN:,} more")
            table.add_section()
        stdout.print(table)
