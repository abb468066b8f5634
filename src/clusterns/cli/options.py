"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

MODEL_HELP = (
    "A run folder, a SentenceTransformer's path or Hub name, a plain Transformers encoder (with "
    "--pooling; minibert is the one inside this package), or a text file of word vectors in GloVe's "
    "format."
)
Pooling = Annotated[
    str | None,
    typer.Option(
        help="How a plain encoder's token vectors become one: cls, mean, max, lasttoken, "
        "first-last-avg, embedding-last-avg or embedding-avg.",
        show_default=False,
    ),
]
MaxLength = Annotated[
    int | None,
    typer.Option(
        min=3,
        help="Tokens to read of each text. Without it: what the model says.",
        show_default=False,
    ),
]
Column = Annotated[str | None, typer.Option(help="Column of the text in tables and JSON lines.")]
