"""``clusterns data``: the data of evaluations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import AfterValidator

from clusterns.commands.request import Request, add_command, function
from clusterns.console import bar, log, stdout
from clusterns.errors import UserError

if TYPE_CHECKING:
    from clusterns.evaluation.fetch import Fetched

app = typer.Typer(help="Data for evaluations.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Data for evaluations."""


def _check_digest(digest: str | None) -> str | None:
    if digest is not None and not re.fullmatch("[0-9a-fA-F]{64}", digest):
        raise UserError(f"--sha256 {digest}: a sha256 has 64 hexadecimal digits.")
    return digest


class FetchRequest(Request):
    """Download the seven STS and seven transfer sets, as the one archive that SimCSE uses.

    They are unpacked into the cache (the folder in the variable CLUSTERNS_CACHE, or ~/.cache/clusterns), where
    `clusterns evaluate` finds them. An interrupted download resumes. The sets have terms of their own: most are
    for research only.
    """

    url: str | None = None
    """Another address of the archive. Default: the Hugging Face Hub, or its mirror in the variable HF_ENDPOINT."""
    sha256: Annotated[str | None, AfterValidator(_check_digest)] = None
    """Expected checksum. Default: that of the first download."""
    overwrite: bool = False
    """Download again even if the sets are there."""

    def run(self) -> Fetched:
        """Download, check and unpack."""
        from clusterns.evaluation.fetch import archive_url, fetch_senteval

        log(f"Fetching {self.url or archive_url()}")
        with bar(desc="Fetch", unit="B", unit_scale=True) as shown:

            def advance(done: int, total: int | None) -> None:
                shown.total = total
                shown.update(done - shown.n)

            return fetch_senteval(self.url, self.sha256, self.overwrite, advance)

    def show(self, result: Fetched) -> None:
        """Print what was found, and what is missing."""
        for trouble in result.troubles:
            log(trouble)
        stdout.print(f"In {result.folder}: {', '.join(result.sets)}", soft_wrap=True)


fetch = function(FetchRequest)
add_command(app, "fetch", FetchRequest)
