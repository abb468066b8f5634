"""What an evaluation will run: all data found first, before the model is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clusterns.errors import UserError
from clusterns.evaluation.data.catalogue import SUITES
from clusterns.evaluation.data.find import EvaluationData, MissingData, missing_message
from clusterns.evaluation.data.sets import AnySet, row_count, whole_digest
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
class Plan:
    """The sets that were found, and by suite those that were not."""

    jobs: list[Job]
    missing: dict[str, list[MissingData]] = field(default_factory=dict)

    def table(self, kept: Sequence[Job] = ()) -> Table:
        """What will run, what was kept from before, and what is missing with the remedy."""
        table = Table("", ["set", "rows", "from", "state"], corner="suite")
        for job in self.jobs:
            rows = f"{row_count(job.data):,}" if job.data is not None else None
            state = "kept" if job in kept else "will run"
            table.rows.append((job.suite, [job.name, rows, job.source, state]))
        for suite, errors in self.missing.items():
            for error in errors:
                table.rows.append((suite, [error.name, None, None, "missing"]))
        everything = [error for errors in self.missing.values() for error in errors]
        table.notes += dict.fromkeys(error.remedy for error in everything)
        return table


def find_jobs(
    suites: Iterable[str],
    data: EvaluationData,
    own: Sequence[AnySet] = (),
    mteb_tasks: Iterable[str] = (),
) -> Plan:
    """Find every set that is asked for; nothing at all is an error, and so is a broken set."""
    plan = Plan([])
    for suite in suites:
        for name in SUITES[suite]:
            try:
                found = data.find(name)
            except MissingData as error:
                plan.missing.setdefault(suite, []).append(error)
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
        errors = [error for found in plan.missing.values() for error in found]
        raise UserError(missing_message(errors))
    return plan
