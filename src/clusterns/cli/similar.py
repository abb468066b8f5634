"""``clusterns similar``: sentences that say nearly the same."""

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


def similar(
    model: Model,
    corpus: Annotated[
        list[str],
        typer.Argument(help="Text: files, folders or Hub datasets.", show_default=False),
    ],
    threshold: Annotated[
        float, typer.Option(min=-1, max=1, help="Least cosine of two sentences that are alike.")
    ] = 0.9,
    pairs: Annotated[
        Path | None,
        typer.Option(help="Write all pairs to this .csv or .jsonl file.", show_default=False),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(help="Write all groups to this .csv or .jsonl file.", show_default=False),
    ] = None,
    drop: Annotated[
        Path | None,
        typer.Option(
            help="Write the text without the repeats, a line each. A repeat is alike to an earlier "
            "line that stays.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="How many groups to show.")] = 10,
    column: Column = None,
    pooling: Pooling = None,
    max_length: MaxLength = None,
    prompt_name: PromptName = None,
    truncate_dim: TruncateDim = None,
    device: Device = None,
    dtype: Dtype = DType.float32,
) -> None:
    """Find near-duplicates: pairs of sentences above a threshold, and the groups they connect.

    What is alike depends on the model: the table says what each threshold would give.

    clusterns similar runs/mine titles.txt

    clusterns similar runs/mine titles.txt --threshold 0.95 --drop clean.txt
    """
    from clusterns.corpus.sources import check_sources
    from clusterns.explore.export import check_kind
    from clusterns.vectors.place import check_model

    check_kind("--pairs", pairs)
    check_kind("--groups", groups)
    check_sources(corpus)
    check_model(model, pooling)

    import numpy as np
    from rich.table import Table

    from clusterns.cli.quiet import quiet_libraries
    from clusterns.console import answers, say
    from clusterns.explore.corpus import lens_over, read_sentences
    from clusterns.explore.duplicates import (
        HARDLY_REPEATS,
        THRESHOLDS,
        levels,
        members,
        of_lines,
        pairs_of,
    )
    from clusterns.explore.export import write_rows
    from clusterns.files import atomic_file

    quiet_libraries()
    sentences = read_sentences(corpus, column)
    lens = lens_over(
        model,
        sentences,
        pooling=pooling,
        max_length=max_length,
        prompt_name=prompt_name,
        truncate_dim=truncate_dim,
        device=device,
        dtype=dtype.value,
    )
    found = of_lines(pairs_of(*lens.neighbours, min(threshold, *THRESHOLDS)), sentences.rows)
    line = sentences.lines
    text = [sentences.texts[row] for row in sentences.rows]
    chosen = found.above(threshold)
    alike = members(chosen.groups())

    table = Table("threshold", "pairs", "groups", "largest", "repeats", "left")
    for level in levels(found, (*THRESHOLDS, threshold)):
        table.add_row(
            f"{'> ' if level.threshold == threshold else ''}{level.threshold:g}",
            f"{level.pairs:,}",
            f"{level.groups:,}",
            f"{level.largest:,}",
            f"{level.repeats:,}",
            f"{len(line) - level.repeats:,}",
        )
    answers.print(table)
    if alike and len(alike[0]) > max(HARDLY_REPEATS, len(line) // 10):
        say(
            f"One group holds {len(alike[0]):,} of {len(line):,} sentences: for this model "
            f"{threshold:g} is not much. Choose a higher --threshold from the table."
        )
    if alike and top:
        table = Table("line", "text", title=f"{len(alike):,} groups at {threshold:g}")
        for group in alike[:top]:
            for row in group[:5]:
                table.add_row(f"{line[row]:,}", text[row][:200])
            if len(group) > 5:
                table.add_row("", f"and {len(group) - 5:,} more")
            table.add_section()
        answers.print(table)
    if pairs is not None:
        write_rows(
            pairs,
            ("cosine", "line1", "line2", "text1", "text2"),
            (
                (round(float(c), 4), line[a], line[b], text[a], text[b])
                for a, b, c in zip(chosen.first, chosen.second, chosen.cosines, strict=True)
            ),
        )
        say(f"{len(chosen.first):,} pairs: {pairs}")
    if groups is not None:
        write_rows(
            groups,
            ("group", "line", "text"),
            ((n, line[row], text[row]) for n, group in enumerate(alike) for row in group),
        )
        say(f"{len(alike):,} groups: {groups}")
    if drop is not None:
        kept = [text[row] for row in np.flatnonzero(chosen.distinct())]
        with atomic_file(drop) as temporary:
            temporary.write_text(
                "".join(f"{' '.join(one.splitlines())}\n" for one in kept), "utf-8"
            )
        say(f"{len(kept):,} of {len(line):,} sentences: {drop}")
