"""The plan of an evaluation: all data is found before the model is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from clusterns.errors import UserError
from clusterns.evaluation.catalog import SUITES, EvaluationData, MissingData, missing_message
from clusterns.evaluation.datasets import SEARCH_BY, EvaluationSet, Retrieval, input_digest
from clusterns.tables import Table

OWN, RETRIEVAL, MTEB = "own", "retrieval", "mteb"


@dataclass(frozen=True, eq=False)
class Job:
    """One set of one suite: the unit that is computed and stored.

    ``data`` is None for a task of the mteb package, which loads its own.
    """

    suite: str
    name: str
    data: EvaluationSet | None
    source: str

    @property
    def digest(self) -> str:
        """Identifies all examples that affect the result."""
        return input_digest(self.data) if self.data is not None else ""


class SkippedSet(NamedTuple):
    """A set that is missing or broken."""

    suite: str
    name: str
    error: UserError


@dataclass(frozen=True)
class Plan:
    """The sets that were found, and those that are skipped."""

    jobs: list[Job]
    skipped: list[SkippedSet] = field(default_factory=list)

    def table(self, stored: Sequence[Job] = ()) -> Table:
        """A table of the sets that will run, are stored already, or are missing, with hints."""
        table = Table("", ["set", "rows", "from", "state"], corner="suite")
        for job in self.jobs:
            rows = f"{job.data.rows[-1]:,}" if job.data is not None else None
            state = "stored" if job in stored else "will run"
            table.rows.append((job.suite, [job.name, rows, job.source, state]))
        for suite, name, error in self.skipped:
            missing = isinstance(error, MissingData)
            table.rows.append((suite, [name, None, None, "missing" if missing else "broken"]))
            hint = error.hint if isinstance(error, MissingData) else str(error)
            table.notes += [hint] if hint not in table.notes else []
        return table


def find_jobs(
    suites: Iterable[str],
    data: EvaluationData,
    own: Sequence[EvaluationSet] = (),
    mteb_tasks: Iterable[str] = (),
    collections: Sequence[Retrieval] = (),
) -> Plan:
    """Find all requested sets; raise an error if none is found."""
    plan = Plan([])
    for suite in suites:
        for name in SUITES[suite]:
            try:
                found = data.find(name)
            except UserError as error:
                plan.skipped.append(SkippedSet(suite, name, error))
            else:
                plan.jobs.append(Job(suite, found.label, found, data.shown(found.source)))
    searched = [replace(each, by=by, variant=by) for each in collections for by in SEARCH_BY]
    for suite, each in [*((OWN, one) for one in own), *((RETRIEVAL, one) for one in searched)]:
        if any(job.suite == suite and job.name == each.label for job in plan.jobs):
            raise UserError(f"Duplicate dataset name {each.name}. Rename one of the files.")
        plan.jobs.append(Job(suite, each.label, each, data.shown(each.source)))
    plan.jobs.extend(Job(MTEB, task, None, MTEB) for task in mteb_tasks)
    if not plan.jobs:
        missing = [each.error for each in plan.skipped if isinstance(each.error, MissingData)]
        broken = [str(each.error) for each in plan.skipped if each.error not in missing]
        raise UserError(" ".join([*broken, *([missing_message(missing)] if missing else [])]))
    return plan
