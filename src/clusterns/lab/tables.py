"""The tables of an experiment: mean and spread over seeds, and the differences between rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from clusterns.errors import UserError
from clusterns.evaluation.catalog import AVERAGED, SUITES
from clusterns.evaluation.results import LOWER_IS_BETTER
from clusterns.lab.compare import PERMUTED_SEEDS, Difference
from clusterns.lab.experiment import Experiment
from clusterns.lab.outcomes import Line, remarks, selected_earlier
from clusterns.lab.specs import AMI, DEV_LAST, names_of
from clusterns.tables import Table

SEEDS = "seeds"
Cell = float | str | None


def scores_table(experiment: Experiment, lines: Sequence[Line]) -> Table:
    """A row for every line, followed by the paper's row if `paper_row` is set."""
    columns = columns_of(experiment, lines)
    suites = [value.split("/")[0] for value in columns.values()]
    # Diagnostics have no best value, and means over different seeds are not comparable.
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

    def add(label: str, cells: Sequence[Cell], spreads: Sequence[float | None]) -> None:
        table.rows.append((label, [*cells]))
        table.spreads.append([*spreads, None])

    shown: set[str | None] = {None}
    for line in lines:
        means, spreads = zip(*(_cell(line, name) for name in columns.values()), strict=True)
        add(line.label, [*means, _count(len(line.outcomes), len(line.missing))], spreads)
        if line.paper_row not in shown:
            shown.add(line.paper_row)
            paper = experiment.published.get(line.paper_row or "")
            if paper is None:
                raise UserError(f"paper_row: the paper's table has no row {line.paper_row!r}.")
            # As text, so that they are never marked as the best: their budget differs.
            cells = [f"{paper[v]:.{digits}f}" if v in paper else None for v in columns.values()]
            add(f"{line.paper_row} (paper)", [*cells, None], [None] * len(columns))
    table.notes += _notes(lines, columns)
    for suite in sorted({*suites} & AVERAGED.keys()):
        table.notes += _notes_on_average(lines, suite)
    return table


def columns_of(experiment: Experiment, lines: Sequence[Line]) -> dict[str, str]:
    """The columns of the table and their values; a selected step's score is followed by that of the last step."""
    suite, columns = experiment.table.suite, experiment.table.columns
    outcomes = [one for line in lines for one in line.outcomes]
    if suite is not None:
        names = [
            name for name in names_of(suite) if name != AMI
        ]  # the AMI of DBpedia, which has its own column
        values = dict.fromkeys(name for one in outcomes for name in one.values)
        # The name of a sample, or of a set from the Hub, has a suffix in brackets.
        columns = {
            each.removeprefix(f"{suite}/"): each
            for name in names
            for each in values
            if each.split(" (")[0] == f"{suite}/{name}"
        } or {name: f"{suite}/{name}" for name in names}
    if not any(map(selected_earlier, outcomes)):
        return columns
    found = {}
    for name, value in (columns if suite is None else {**columns, "dev": "dev"}).items():
        found[name] = value
        if value == "dev":
            found[f"{name}, last step"] = DEV_LAST
    return found


def _cell(line: Line, name: str) -> tuple[Cell, float | None]:
    """Mean and standard deviation. If all runs ended as their base, the row has no scores of its own."""
    if line.is_base and name.split("/")[0] in (*SUITES, "dev"):
        return "= base", None
    values = list(line.values(name).values())
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return (float(np.mean(values)) if values else None), spread


def _count(done: int, missing: int) -> str:
    return f"{done} of {done + missing}" if missing else str(done)


def _notes(lines: Sequence[Line], columns: Mapping[str, str]) -> list[str]:
    notes = ["Mean ± standard deviation over seeds; rows of the paper are as printed there."]
    for line in lines:
        seeds: dict[str, list[str]] = defaultdict(list)
        for seed, why in line.missing.items():
            seeds[f"missing, {why}"].append(str(seed))
        for one in line.outcomes:
            for remark in remarks(one):
                seeds[remark].append(str(one.seed))
        notes += [
            f"{line.label}, seed{'s' if len(each) > 1 else ''} {', '.join(each)}: {remark}."
            for remark, each in seeds.items()
        ]
    for name, value in columns.items():
        without = [line.label for line in lines if line.outcomes and not line.values(value)]
        if without and value != DEV_LAST:
            notes.append(f"Without {name}: {', '.join(without)}.")
    return notes


def _notes_on_average(lines: Sequence[Line], suite: str) -> list[str]:
    """Notes on averages that lack sets of the paper, or that cover different sets in some trials."""
    sets = {
        frozenset(one.result["suites"][suite]["sets"])
        for line in lines
        for one in line.outcomes
        if suite in one.result.get("suites", {})
    }
    if len(sets) > 1:
        return [
            f"{suite}: not all trials were evaluated on the same sets; averages cannot be compared."
        ]
    lacking = [name for name in AVERAGED[suite] if not all(name in each for each in sets)]
    return [f"The average is without {', '.join(lacking)}; the paper's is over all."] * bool(
        lacking
    )


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
    tested = [one for one in differences if one.p is not None]
    if tested:
        families = Counter(one.family or "all" for one in tested)
        sizes = ", ".join(f"{name}: {count}" for name, count in families.items())
        table.notes.append(
            f"Paired by seed: mean difference, t-interval, two-sided p of a paired t-test, corrected by Holm's method "
            f"within each family ({sizes})."
        )
    if any(len(one.by_seed) < PERMUTED_SEEDS for one in tested):
        table.notes.append(
            f"The p over sign flips is given from {PERMUTED_SEEDS} seeds on: with n seeds it cannot be below 2/2^n."
        )
    return table


def difference_cells(one: Difference) -> list[Cell]:
    """The cells of a difference in :func:`differences_table`."""
    return [
        f"{one.estimate:+.2f}",
        None if one.interval is None else "{:+.2f} to {:+.2f}".format(*one.interval),
        _count(len(one.by_seed), one.missing_seeds),
        None if one.adjusted_p is None else p_value(one.adjusted_p),
        None if one.permutation_p is None else p_value(one.permutation_p),
        None if one.paper is None else f"{one.paper:+.2f}",
        ", ".join(one.verdicts),
    ]


def p_value(p: float) -> str:
    """As tables show it."""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"
