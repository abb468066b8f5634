"""``clusterns data``: the data of evaluations."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from clusterns.cli.common import common
from clusterns.errors import UserError

data = typer.Typer(help="The data of evaluations.", no_args_is_help=True)


@data.callback()
def _group() -> None:
    """The data of evaluations."""


def fetch(
    url: Annotated[
        str | None,
        typer.Option(
            help="Another place of the archive. Without it: the Hugging Face Hub, or its mirror in "
            "the variable HF_ENDPOINT.",
            show_default=False,
        ),
    ] = None,
    sha256: Annotated[
        str | None,
        typer.Option(
            help="What its checksum must be. Without it: the one of the first fetch.",
            show_default=False,
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Fetch it although it is there already.")
    ] = False,
) -> None:
    """Fetch the seven STS and seven transfer sets, as the one archive that SimCSE uses.

    It is unpacked into the cache (the folder that the variable CLUSTERNS_CACHE names, or
    ~/.cache/clusterns), where `clusterns evaluate` finds it by itself. After a stop the same
    command goes on. The sets have terms of their own: most are for research.
    """
    if sha256 is not None and not re.fullmatch("[0-9a-fA-F]{64}", sha256):
        raise UserError(f"--sha256 {sha256}: a sha256 has 64 hexadecimal digits.")

    from clusterns.console import bar, log, stdout
    from clusterns.evaluation.fetch import archive_url, fetch_senteval

    log(f"Fetching {url or archive_url()}")
    with bar(desc="Fetch", unit="B", unit_scale=True) as shown:

        def advance(there: int, total: int | None) -> None:
            shown.total = total
            shown.update(there - shown.n)

        found = fetch_senteval(url, sha256, again, advance)
    for trouble in found.troubles:
        log(trouble)
    stdout.print(f"In {found.folder}: {', '.join(found.sets)}", soft_wrap=True)


data.command()(common(fetch))
