"""The tables of an experiment: mean and spread over seeds, and the differences between rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from clusterns.errors import UserError
from clusterns.evaluation.catalog import AVERAGED, SUITES
from clusterns.evaluation.results import LOWER_IS_BETTER
from clusterns.evaluation.tables import published_rows
from clusterns.lab.compare import PERMUTED_SEEDS, Difference
from clusterns.lab.experiment import Experiment
from clusterns.lab.outcomes import Line, remarks, selected_earlier
from clusterns.lab.specs import AMI, DEV_LAST, names_of
from clusterns.tables import Table

SEEDS = "seeds"


def scores_table(experiment: Experiment, lines: Sequence[Line]) -> Table:
    """A row for every line, with the paper's row below it where one is named."""
    columns = columns_of(experiment, lines)
    suites = [value.split("/")[0] for value in columns.values()]
    # A diagnostic has no best, and means over different seeds are not to be compared.
    complete = not any(line.missing for line in lines)
    digits = experiment.table.digits
    table = Table(
        experiment.title,
        [*columns, SEEDS],
        lower_is_better=[*(suite in LOWER_IS_BETTER for suite in suites), False],
        mark_best=[*(complete and s in (*SUITES, "dev", DEV_LAST) for s in suites), False],
        digits=digits,
        spread_digits=digits,
    )
    published = published_rows(experiment.table.published or experiment.table.suite or "")
    shown: set[str | None] = {None}
    for line in lines:
        values = [list(line.values(name).values()) for name in columns.values()]
        done, planned = len(line.outcomes), len(line.outcomes) + len(line.missing)
        count = str(done) if done == planned else f"{done} of {planned}"
        means = [float(np.mean(each)) if each else None for each in values]
        spreads = [float(np.std(each, ddof=1)) if len(each) > 1 else None for each in values]
        table.rows.append((line.label, [*means, count]))
        table.spreads.append([*spreads, None])
        if line.paper_row not in shown:
            shown.add(line.paper_row)
            table.rows.append(_paper_row(line.paper_row or "", published, list(columns), digits))
            table.spreads.append([None] * len(table.columns))
    table.notes += _notes(lines, columns)
    table.notes += _notes_on_averages(lines, set(suites))
    return table


def columns_of(experiment: Experiment, lines: Sequence[Line]) -> dict[str, str]:
    """The columns of the table and their values; of a suite, those that exist."""
    suite = experiment.table.suite
    outcomes = [one for line in lines for one in line.outcomes]
    if suite is None:
        found = {}
        for name, value in experiment.table.columns.items():
            found[name] = value
            if value == "dev" and any(map(selected_earlier, outcomes)):
                found[f"{name}, last step"] = DEV_LAST
        return found
    names = [name for name in names_of(suite) if name != AMI]  # of DBpedia, which has a column
    values = dict.fromkeys(name for one in outcomes for name in one.values)
    # A part of a set, or one from the Hub, says so behind its name.
    found = {
        each.removeprefix(f"{suite}/"): each
        for name in names
        for each in values
        if each.split(" (")[0] == f"{suite}/{name}"
    }
    return found or {name: f"{suite}/{name}" for name in names}


def _paper_row(
    name: str, published: dict[str, dict[str, float]], columns: list[str], digits: int
) -> tuple[str, list[float | str | None]]:
    if name not in published:
        known = ", ".join(published) or "it is empty"
        raise UserError(f"paper_row: the paper's table has no row {name!r}: {known}.")
    numbers = published[name]
    # As text, so that they are never marked as the best: the budget is another one.
    cells = [f"{numbers[c]:.{digits}f}" if c in numbers else None for c in columns]
    return f"{name} (paper)", [*cells, None]


def _notes(lines: Sequence[Line], columns: dict[str, str]) -> list[str]:
    notes = ["Mean ± standard deviation over seeds; rows of the paper are as printed there."]
    for line in lines:
        seeds: dict[str, list[int]] = defaultdict(list)
        for seed, why in line.missing.items():
            seeds[f"missing, {why}"].append(seed)
        for one in line.outcomes:
            for remark in remarks(one):
                seeds[remark].append(one.seed)
        notes += [f"{line.label}, {_seeds(each)}: {remark}." for remark, each in seeds.items()]
    for name, value in columns.items():
        without = [line.label for line in lines if line.outcomes and not line.values(value)]
        if without:
            notes.append(f"Without {name}: {', '.join(without)}.")
    return notes


def _notes_on_averages(lines: Sequence[Line], suites: set[str]) -> list[str]:
    """Averages that are not over all sets of the paper, or not over the same sets in all trials."""
    notes = []
    for suite in sorted(suites & AVERAGED.keys()):
        sets = {
            frozenset(one.result["suites"][suite]["sets"])
            for line in lines
            for one in line.outcomes
            if suite in one.result.get("suites", {})
        }
        lacking = [name for name in AVERAGED[suite] if not all(name in each for each in sets)]
        if len(sets) > 1:
            notes.append(
                f"{suite}: not all trials were evaluated on the same sets; averages cannot be compared."
            )
        elif sets and lacking:
            notes.append(f"The average is without {', '.join(lacking)}; the paper's is over all.")
    return notes


def _seeds(seeds: list[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def differences_table(experiment: Experiment, differences: Sequence[Difference]) -> Table:
    """A row for every pair that was compared: the estimate with its interval, then the verdict."""
    table = Table(
        f"Differences in {experiment.compare_by}",
        ["difference", "95 % interval", SEEDS, "p", "p, sign flips", "paper", "verdict"],
        mark_best=False,
        corner="Rows",
    )
    table.rows = [(one.name, difference_cells(one)) for one in differences]
    compared = {(one.first, one.second) for one in differences}
    without = [f"{a} over {b}" for a, b in experiment.pairs() if (a, b) not in compared]
    if without:
        table.notes.append(f"Not compared, for lack of a common seed: {'; '.join(without)}.")
    if differences:
        families: dict[str, int] = defaultdict(int)
        for one in differences:
            families[one.family] += one.p is not None
        told = ", ".join(f"{n or 'all'}: {count}" for n, count in families.items())
        table.notes.append(
            f"Paired by seed: mean difference, t-interval, two-sided p of a paired t-test, corrected by Holm's method "
            f"within each family ({told})."
        )
    if any(len(one.by_seed) < PERMUTED_SEEDS for one in differences):
        table.notes.append(
            f"The p over sign flips is given from {PERMUTED_SEEDS} seeds on: with n seeds it cannot be below 2/2^n."
        )
    return table


def difference_cells(one: Difference) -> list[float | str | None]:
    """The cells of a difference in :func:`differences_table`."""
    done = len(one.by_seed)
    return [
        f"{one.estimate:+.2f}",
        None if one.interval is None else "{:+.2f} to {:+.2f}".format(*one.interval),
        str(done) if not one.missing_seeds else f"{done} of {done + one.missing_seeds}",
        None if one.adjusted_p is None else p_value(one.adjusted_p),
        None if one.permutation_p is None else p_value(one.permutation_p),
        None if one.paper is None else f"{one.paper:+.2f}",
        ", ".join(one.verdicts),
    ]


def p_value(p: float) -> str:
    """As tables show it."""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"
