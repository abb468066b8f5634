"""``clusterns inspect``: a text as a model sees it."""

from __future__ import annotations

from typing import Annotated

import typer


def inspect(
    model: Annotated[
        str,
        typer.Argument(
            help="A run folder, a SentenceTransformer, or a plain encoder.", metavar="MODEL"
        ),
    ],
    text: Annotated[str, typer.Argument(help="The text to look at.", metavar="TEXT")],
    pooling: Annotated[
        str | None,
        typer.Option(
            help="Pooling of a plain encoder: cls, mean, max or lasttoken.", show_default=False
        ),
    ] = None,
) -> None:
    """Show the tokens of a text, the template around it, what is cut, and the pooled positions.

    clusterns inspect runs/first "A text as the model sees it"
    """
    from rich.table import Table
    from rich.text import Text

    from clusterns.cli.quiet import quiet_libraries
    from clusterns.console import answers
    from clusterns.encoder.inspection import inspect_text
    from clusterns.vectors.models import load_model

    quiet_libraries()
    seen = inspect_text(load_model(model, pooling, device="cpu"), text)
    pooled = [str(i) for i, piece in enumerate(seen.pieces) if piece.pooled]
    places = f"position {pooled[0]}" if len(pooled) == 1 else f"{len(pooled)} positions"
    cut = "nothing is cut"
    if seen.cut_tokens:
        cut = f"{seen.cut_tokens} tokens are cut off: {seen.cut}"
    for line in (
        f"template: {seen.template}",
        f"pooling:  {seen.pooling}, {places}",
        f"length:   {len(seen.pieces)} tokens of at most {seen.limit}; {cut}",
    ):
        answers.print(line, markup=False, soft_wrap=True)
    table = Table("position", "token", "part", "pooled", box=None, pad_edge=False)
    for position, piece in enumerate(seen.pieces):
        table.add_row(
            str(position), Text(piece.token), piece.part, "pooled" if piece.pooled else ""
        )
    answers.print(table)
