"""``clusterns data``: the data of evaluations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from clusterns.commands.request import Request, add_command, function
from clusterns.console import log, stdout

if TYPE_CHECKING:
    from clusterns.evaluation.fetch import Fetched

app = typer.Typer(help="Data for evaluations.", no_args_is_help=True, add_completion=False)


@app.callback()
def _group() -> None:
    """Data for evaluations."""


class FetchRequest(Request):
    """Download the seven STS and seven transfer sets, as the one archive that SimCSE uses.

    It comes from the Hugging Face Hub, or from the mirror in the variable HF_ENDPOINT, and is unpacked into the
    cache (the folder in the variable CLUSTERNS_CACHE, or ~/.cache/clusterns), where `clusterns evaluate` finds the
    sets. The sets have terms of their own: most are for research only.
    """

    revision: str = "main"
    """Branch, tag or commit of the dataset princeton-nlp/datasets-for-simcse."""
    overwrite: bool = False
    """Download the sets again even if they exist."""

    def run(self) -> Fetched:
        """Download, unpack and check."""
        from clusterns.evaluation.fetch import fetch_senteval

        return fetch_senteval(self.revision, self.overwrite)

    def show(self, result: Fetched) -> None:
        """Print the sets that were found and the problems."""
        for problem in result.problems:
            log(problem)
        stdout.print(f"In {result.folder}: {', '.join(result.sets)}", soft_wrap=True)


fetch = function(FetchRequest)
add_command(app, "fetch", FetchRequest)
