"""What an evaluation will run: all data found first, before the model is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clusterns.errors import UserError
from clusterns.evaluation.catalog import SUITES, EvaluationData, MissingData, missing_message
from clusterns.evaluation.datasets import AnySet, row_count, whole_digest
from clusterns.tables import Table

OWN, MTEB = "own", "mteb"


@dataclass(frozen=True, eq=False)
class Job:
    """One set of one suite: the unit that is computed, and kept once it is.

    ``data`` is None for a task of the mteb package, which brings its own.
    """

    suite: str
    name: str
    data: AnySet | None
    source: str

    @property
    def digest(self) -> str:
        """Of all rows that decide the result."""
        return whole_digest(self.data) if self.data is not None else ""


@dataclass(frozen=True)
class Left:
    """A set that is left out: it is missing, or there and broken."""

    suite: str
    name: str
    error: UserError

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return self.error.remedy if isinstance(self.error, MissingData) else str(self.error)


@dataclass(frozen=True)
class Plan:
    """The sets that were found, and those that are left out."""

    jobs: list[Job]
    left: list[Left] = field(default_factory=list)

    def table(self, kept: Sequence[Job] = ()) -> Table:
        """What will run, what was kept from before, and what is missing with the remedy."""
        table = Table("", ["set", "rows", "from", "state"], corner="suite")
        for job in self.jobs:
            rows = f"{row_count(job.data):,}" if job.data is not None else None
            state = "kept" if job in kept else "will run"
            table.rows.append((job.suite, [job.name, rows, job.source, state]))
        for each in self.left:
            state = "missing" if isinstance(each.error, MissingData) else "broken"
            table.rows.append((each.suite, [each.name, None, None, state]))
        table.notes += dict.fromkeys(each.remedy for each in self.left)
        return table


def find_jobs(
    suites: Iterable[str],
    data: EvaluationData,
    own: Sequence[AnySet] = (),
    mteb_tasks: Iterable[str] = (),
) -> Plan:
    """Find every set that is asked for; nothing at all is an error."""
    plan = Plan([])
    for suite in suites:
        for name in SUITES[suite]:
            try:
                found = data.find(name)
            except UserError as error:
                plan.left.append(Left(suite, name, error))
            else:
                plan.jobs.append(Job(suite, found.name, found, data.shown(found.source)))
    for each in own:
        if any(job.suite == OWN and job.name == each.name for job in plan.jobs):
            raise UserError(
                f"two files are called {each.name}: rename one, results go by the name."
            )
        plan.jobs.append(Job(OWN, each.name, each, data.shown(each.source)))
    plan.jobs.extend(Job(MTEB, task, None, MTEB) for task in mteb_tasks)
    if not plan.jobs:
        missing = [each.error for each in plan.left if isinstance(each.error, MissingData)]
        broken = [str(each.error) for each in plan.left if each.error not in missing]
        raise UserError(" ".join([*broken, *([missing_message(missing)] if missing else [])]))
    return plan
