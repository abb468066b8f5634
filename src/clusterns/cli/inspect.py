"""``clusterns inspect``: a text as a model sees it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from clusterns.cli.options import Json, MaxLength, Model, Pooling, PromptName
from clusterns.console import print_json, stdout


def inspect(
    model: Model,
    text: Annotated[str, typer.Argument(help="The text to look at.", metavar="TEXT")],
    pooling: Pooling = None,
    max_length: MaxLength = None,
    prompt_name: PromptName = None,
    json: Json = False,
) -> None:
    """Show the tokens of a text, which of them count, how they are pooled, and what is cut.

    clusterns inspect runs/first "A text as the model sees it"
    """
    from clusterns.vectors.place import check_model

    check_model(model, pooling)

    # From here on it takes its time.
    from rich.table import Table

    from clusterns.cli.quiet import quiet_libraries
    from clusterns.encoder.inspection import inspect_text
    from clusterns.vectors.models import load_model

    quiet_libraries()
    seen = inspect_text(
        load_model(model, pooling, max_length, "cpu", prompt_name=prompt_name), text
    )
    if json:
        print_json({**asdict(seen), "template": seen.template})
        return
    pooled = [str(i) for i, piece in enumerate(seen.pieces) if piece.pooled]
    places = f"position {pooled[0]}" if len(pooled) == 1 else f"{len(pooled)} positions"
    limit = "" if seen.limit is None else f" of at most {seen.limit:,}"
    cut = "nothing is cut"
    if seen.cut_tokens:
        cut = f"{seen.cut_tokens} tokens are cut off: {seen.cut}"
    for line in (
        f"template: {seen.template}",
        f"pooling:  {seen.pooling}, {places}",
        f"length:   {len(seen.pieces)} tokens{limit}; {cut}",
    ):
        stdout.print(line, soft_wrap=True)
    table = Table("position", "token", "part", "pooled", box=None, pad_edge=False)
    for position, piece in enumerate(seen.pieces):
        table.add_row(str(position), piece.token, piece.part, "pooled" if piece.pooled else "")
    stdout.print(table)
