"""``clusterns quickstart``: a real training run in minutes, without downloads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from clusterns.commands.options import Changes
from clusterns.commands.request import Cli, Request, function
from clusterns.errors import UserError
from clusterns.quickstart.folder import RECIPE, check_folder, remove_earlier
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import load_recipe


class QuickstartRequest(Request):
    """Train on the docstrings of the installed Python packages, measure the gain, and search them.

    Trains ClusterNS from the small BERT inside this package, and static embeddings from the text alone. Takes a
    few minutes on two cores.
    """

    output: Annotated[str | Path, Cli(Path)] = "runs/quickstart"
    """Run folder of the static embeddings, which also contains the run of ClusterNS."""
    settings: Changes = {}
    """Override a setting of ClusterNS. The recipe is cpu-small, with positives=document and eval_steps=75."""
    overwrite: bool = False
    """Replace an earlier quickstart in the same folder."""
    report: bool = True
    """Write a report (report.html in the run folder)."""

    def run(self) -> dict[str, dict[str, float]]:
        """Train and measure two models; return scores by model and measure."""
        output = Path(self.output)
        for key in sorted({"method", "template", "dev"} & self.settings.keys()):
            raise UserError(
                f"--set {key}: the quickstart cannot change this. Use `clusterns train` instead."
            )
        load_recipe(RECIPE, self.settings)
        check_folder(output, self.overwrite)
        from clusterns.quickstart.run import quickstart

        if RunFolder(output).is_run:
            remove_earlier(output)
        return quickstart(output, self.settings, report=self.report)

    def resume_hint(self) -> str:
        return "Start over with: clusterns quickstart --overwrite"


quickstart = function(QuickstartRequest)
