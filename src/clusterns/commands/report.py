"""``clusterns report``: write a page about one or several runs."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from clusterns.commands.options import OptionalPath, Texts, as_paths, check_suffixes
from clusterns.commands.request import Request, function
from clusterns.console import stdout
from clusterns.errors import UserError


class ReportRequest(Request):
    """Write an HTML page about a run: scores, curves, neighbors before and after, settings.

    The page is one file that opens from disk and prints.

    clusterns report runs/mine

    clusterns report runs/one runs/other --output both.html
    """

    runs: Texts = Field(kw_only=False)
    """Folders of finished runs."""
    output: OptionalPath = None
    """HTML file to write. Default: report.html in the run folder; required for several runs."""
    models: bool = True
    """Load the models and compare their neighbors. Otherwise, the page shows only the contents of the run folders."""

    def run(self) -> Path:
        runs = as_paths(self.runs)
        output = None if self.output is None else Path(self.output)
        for run in runs:
            if not (run / "run.json").is_file():
                raise UserError(f"{run} is not a run folder.")
        if output is None and len(runs) > 1:
            raise UserError("Several runs need --output: specify the HTML file to write.")
        check_suffixes("--output", output, ".html", ".htm")
        from clusterns.reports.page import make_report

        return make_report(runs, output, models=self.models)

    def show(self, result: Path) -> None:
        """Print the address of the page."""
        stdout.print(f"Report: {result.resolve().as_uri()}", soft_wrap=True)


report = function(ReportRequest)
