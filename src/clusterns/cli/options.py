"""Options that several commands share."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from clusterns.vectors.settings import check_device_name

MODEL_HELP = (
    "A run folder, a SentenceTransformer's path or Hub name, a plain Transformers encoder (with "
    "--pooling; minibert is the one inside this package), or a text file of word vectors in GloVe's "
    "format."
)
Model = Annotated[str, typer.Argument(help=MODEL_HELP, metavar="MODEL", show_default=False)]
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
Column = Annotated[
    str | None,
    typer.Option(
        help="Column of the text in tables and JSON lines: its name, or its number from 1 where a "
        "table has no header. A text file is then a table of what stands between tabs.",
        show_default=False,
    ),
]
Document = Annotated[
    str | None,
    typer.Option(
        help="Which sentences belong together: a column as for --column, or for plain text "
        "`paragraph` (between blank lines), `line` (with --split-sentences) or `file`. Whole "
        "documents are then kept out of training.",
        show_default=False,
    ),
]
OWN_COLUMNS = "FILE:COLUMN,COLUMN,... says which they are, by name or by number from 1, where a header does not."


def _device(name: str | None) -> str | None:
    return None if name is None else check_device_name(name)


Device = Annotated[
    str | None,
    typer.Option(
        help="cpu, cuda, cuda:1, mps, ... Without it: the best one here.",
        show_default=False,
        callback=_device,
    ),
]


class DType(str, Enum):
    """What can be asked for with --dtype."""

    float32 = "float32"
    float16 = "float16"
    bfloat16 = "bfloat16"


Dtype = Annotated[
    DType,
    typer.Option(help="Numbers to compute with; the half ones are for accelerators."),
]
PromptName = Annotated[
    str | None,
    typer.Option(
        help="Which of the model's prompts to put before each text. Without it: the one that the "
        "model names itself, if any.",
        show_default=False,
    ),
]
TruncateDim = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Keep so many of a vector's first numbers. Without it: all.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON, for programs.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="No status and no bars: errors and the result only.")
]
NoReport = Annotated[
    bool, typer.Option("--no-report", help="Write no report (report.html in the run folder).")
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", help="What the libraries say as well, and where an error comes from."
    ),
]
BatchSize = Annotated[int, typer.Option(min=1, help="Texts a forward pass.")]
