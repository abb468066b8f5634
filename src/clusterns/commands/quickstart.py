"""``clusterns quickstart``: something real in minutes, with nothing to download."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clusterns.commands.options import Changes
from clusterns.commands.request import Cli, Request, function
from clusterns.console import log
from clusterns.errors import Interrupted, UserError
from clusterns.quickstart.folder import RECIPE, check_folder, remove_earlier
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import load_recipe


class QuickstartRequest(Request):
    """Train on the docstrings of the installed Python packages, measure the gain, and search them.

    Trains ClusterNS from the small BERT inside this package, and static embeddings from the text alone. Takes a
    few minutes on two cores.
    """

    output: Annotated[str | Path, Cli(Path)] = "runs/quickstart"
    """Run folder to write, of the static embeddings; that of ClusterNS is inside it."""
    settings: Changes = {}
    """Override a setting of ClusterNS. The recipe is cpu-small, with positives=document."""
    overwrite: bool = False
    """Replace an earlier quickstart in the same folder."""
    report: bool = True
    """Write a report (report.html in the run folder)."""

    def run(self) -> dict[str, dict[str, float]]:
        """Train two models and measure them: scores by model and measure."""
        output = Path(self.output)
        for key in sorted({"method", "template", "dev"} & self.settings.keys()):
            raise UserError(
                f"--set {key}: the quickstart trains ClusterNS and static embeddings as they are."
            )
        load_recipe(RECIPE, self.settings)
        check_folder(output, self.overwrite)
        from clusterns.quickstart.run import quickstart

        if RunFolder(output).is_run:
            remove_earlier(output)
        return quickstart(output, self.settings, report=self.report)

    def execute(self) -> None:
        try:
            self.run()
        except Interrupted:
            log("Stopped. Start over with: clusterns quickstart --overwrite")
            raise typer.Exit(130) from None


quickstart = function(QuickstartRequest)
