"""The ``mteb`` package as a suite, if it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from clusterns.errors import UserError
from clusterns.evaluation.results import SetResult, SuiteResult

DEFAULT_TASKS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSBenchmark", "SICK-R")


def mteb_version() -> str:
    """The installed version of mteb, read without importing it; raise a UserError without it."""
    try:
        return version("mteb")
    except PackageNotFoundError as error:
        raise UserError(
            "the mteb suite needs the mteb package: pip install 'clusterns[mteb]'."
        ) from error


def check_tasks(names: Sequence[str]) -> list[Any]:
    """Look up tasks by name; refuse unknown names with a UserError."""
    mteb_version()
    import mteb

    try:
        return list(mteb.get_tasks(tasks=list(names)))
    except KeyError as error:
        raise UserError(f"mteb: {error.args[0]}") from error


def run_mteb(model: Any, tasks: Sequence[str] = DEFAULT_TASKS, batch_size: int = 32) -> SuiteResult:
    """Run MTEB tasks by name, with MTEB's own code and main scores.

    MTEB's SICK-R is over all 9,927 pairs, not over the test split of the paper's table.
    """
    chosen = check_tasks(tasks)
    import mteb

    try:
        outcome = mteb.evaluate(
            model,
            chosen,
            cache=None,
            encode_kwargs={"batch_size": batch_size},
            show_progress_bar=False,
        )
    except OSError as error:
        raise UserError(f"mteb could not get its data from the Hub: {error}") from error
    sets = {
        result.task_name: SetResult(100 * float(result.get_score()), "main score", 0, 0.0, "mteb")
        for result in outcome.task_results
    }
    return SuiteResult(sets, settings={"mteb": mteb.__version__})
