"""A plan carried out for a person: what is said at its end, whatever it was."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from clusterns.console import log, silenced, stdout

if TYPE_CHECKING:
    from clusterns.api.adapt import AdaptationPlan
    from clusterns.api.plan import Trained, TrainingPlan


def run_plan(
    plan: TrainingPlan | AdaptationPlan,
    command: str,
    summary: Callable[[Trained], str],
    *,
    report: bool,
    quiet: bool,
) -> None:
    """Train or go on, print ``summary`` of what came out, and write the report.

    Args:
        plan: what is trained on what.
        command: that goes on with it after a stop.
        summary: the last lines; some are to be copied, so none is wrapped.
        report: whether to write one.
        quiet: no status lines and no bars.
    """
    from clusterns.training.processes import processes
    from clusterns.training.run import Interrupted

    try:
        run = plan.run(quiet=quiet)
    except Interrupted as stop:
        log(f"Stopped: {stop}. Go on with: {command}")
        sys.exit(130)
    if not processes().is_main_process:
        return
    stdout.print(summary(run), markup=False, soft_wrap=True)
    if report:
        from clusterns.reports.page import report_after

        with silenced(quiet):
            written = report_after([run.path])
        if written is not None:
            stdout.print(f"The report: {written.resolve().as_uri()}", soft_wrap=True)
