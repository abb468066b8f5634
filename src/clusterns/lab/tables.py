"""The tables of an experiment: mean and spread over seeds, and which differences are more than chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from clusterns.errors import UserError
from clusterns.evaluation.catalog import AVERAGED, SUITES
from clusterns.evaluation.results import LOWER_IS_BETTER
from clusterns.evaluation.stats import two_sided_p
from clusterns.evaluation.tables import published_rows
from clusterns.lab.differences import Difference, least_p
from clusterns.lab.experiment import Experiment
from clusterns.lab.identity import superseded
from clusterns.lab.outcomes import Line, Outcome, inactive_parts, selected_earlier
from clusterns.lab.specs import AMI, DEV_LAST, names_of
from clusterns.tables import Table

SEEDS = "seeds"
CLUSTERNS = "clusterns"


def scores_table(experiment: Experiment, lines: Sequence[Line]) -> Table:
    """A row for every line, the paper's below it; trials without a result are named."""
    columns = columns_of(experiment, lines)
    suite = experiment.table.suite
    lower = [name.split("/")[0] in LOWER_IS_BETTER for name in columns.values()]
    # A diagnostic has no best, and means over seeds that are not all there are not to be compared.
    complete = not any(line.missing for line in lines)
    marked = [
        complete and name.split("/")[0] in (*SUITES, "dev", DEV_LAST) for name in columns.values()
    ]
    table = Table(
        experiment.title,
        [*columns, SEEDS],
        lower_is_better=[*lower, False],
        mark_best=[*marked, False],
        digits=experiment.table.digits,
        spread_digits=experiment.table.digits,
    )
    published = published_rows(experiment.table.published or suite or "")
    for line in lines:
        means, spreads = [], []
        for name in columns.values():
            values = list(line.values(name).values())
            means.append(float(np.mean(values)) if values else None)
            spreads.append(float(np.std(values, ddof=1)) if len(values) > 1 else None)
        there, asked = len(line.outcomes), len(line.outcomes) + len(line.missing)
        count = str(there) if there == asked else f"{there} of {asked}"
        table.rows.append((line.label, [*means, count]))
        table.spreads.append([*spreads, None])
        if line.paper_row is not None:
            table.rows.append(_paper_row(line.paper_row, published, list(columns), table.digits))
            table.spreads.append([None] * len(table.columns))
    table.notes += _notes(lines, columns)
    table.notes += _judged_on(lines, {name.split("/")[0] for name in columns.values()})
    return table


def columns_of(experiment: Experiment, lines: Sequence[Line]) -> dict[str, str]:
    """The columns of the table, each with the value in it; of a suite, those that are there."""
    suite = experiment.table.suite
    if suite is None:
        differ = any(selected_earlier(one) for line in lines for one in line.outcomes)
        found = {}
        for name, value in experiment.table.columns.items():
            found[name] = value
            if value == "dev" and differ:
                found[f"{name}, last step"] = DEV_LAST
        return found
    names = [name for name in names_of(suite) if name != AMI]  # of DBpedia, which has a column
    there = dict.fromkeys(name for line in lines for one in line.outcomes for name in one.values)
    # A part of a set, or one from the Hub, has its name with more behind it.
    found = {
        each.removeprefix(f"{suite}/"): each
        for name in names
        for each in there
        if each.split(" (")[0] == f"{suite}/{name}"
    }
    return found or {name: f"{suite}/{name}" for name in names}


def _paper_row(
    name: str, published: dict[str, dict[str, float]], columns: list[str], digits: int
) -> tuple[str, list[float | str | None]]:
    if name not in published:
        raise UserError(
            f"paper_row: the paper's table has no row {name!r}: {', '.join(published) or 'it is empty'}."
        )
    numbers = published[name]
    # As text: the best of ours is marked, not the best of another budget.
    cells = [f"{numbers[c]:.{digits}f}" if c in numbers else None for c in columns]
    return f"{name} (paper)", [*cells, None]


def _notes(lines: Sequence[Line], columns: dict[str, str]) -> list[str]:
    notes = ["Mean ± standard deviation over seeds; rows of the paper are as printed there."]
    for line in lines:
        if line.missing:
            whys: dict[str, list[int]] = {}
            for seed, why in line.missing.items():
                whys.setdefault(why, []).append(seed)
            told = "; ".join(f"{_seeds(seeds)}: {why}" for why, seeds in whys.items())
            notes.append(f"Missing: {line.label}, {told}.")
        never = [one.seed for one in line.outcomes if never_clustered(one)]
        if never:
            notes.append(
                f"{line.label}, {_seeds(never)}: clustering never started, so it is SimCSE."
            )
        kept = [one for one in line.outcomes if kept_base(one)]
        if kept:
            last = ", ".join(
                f"{one.values[DEV_LAST]:.2f}" for one in kept if DEV_LAST in one.values
            )
            notes.append(
                f"{line.label}, {_seeds([one.seed for one in kept])}: no step was better than the base, so the "
                f"scores are the base's{f'; dev of the last step: {last}' if last else ''}."
            )
        notes += _by_seeds(
            line, lambda one: [f"superseded {each}" for each in superseded(one.result)]
        )
        notes += _by_seeds(line, inactive_parts)
    for name, value in columns.items():
        without = [line.label for line in lines if line.outcomes and not line.values(value)]
        if without:
            notes.append(f"Without {name}: {', '.join(without)}.")
    return notes


def _by_seeds(line: Line, find: Callable[[Outcome], Sequence[str]]) -> list[str]:
    """What is to be said of single seeds of a line, each thing once."""
    found: dict[str, list[int]] = {}
    for one in line.outcomes:
        for words in find(one):
            found.setdefault(words, []).append(one.seed)
    return [f"{line.label}, {_seeds(seeds)}: {words}." for words, seeds in found.items()]


def _judged_on(lines: Sequence[Line], suites: set[str]) -> list[str]:
    """Averages that are not over all sets of the paper, or not of all trials over the same ones."""
    notes = []
    for suite in sorted(suites & AVERAGED.keys()):
        judged = [
            one.result["suites"][suite]["sets"]
            for line in lines
            for one in line.outcomes
            if suite in one.result.get("suites", {})
        ]
        sets = {frozenset(each) for each in judged}
        lacking = [name for name in AVERAGED[suite] if not all(name in each for each in sets)]
        if len(sets) > 1:
            notes.append(
                f"{suite}: not all trials were evaluated on the same sets; averages cannot be compared."
            )
        elif sets and lacking:
            notes.append(f"The average is without {', '.join(lacking)}; the paper's is over all.")
    return notes


def never_clustered(one: Outcome) -> bool:
    """Whether a run of ClusterNS never got down to its sigma."""
    run, method = one.result.get("run", {}), one.result.get("settings", {}).get("method")
    return method == CLUSTERNS and "steps" in run and run.get("clustering_started_at") is None


def kept_base(one: Outcome) -> bool:
    """Whether a run trained, and ended as what it began with."""
    run = one.result.get("run", {})
    return run.get("steps", 0) > 0 and run.get("best_step") == 0


def _seeds(seeds: list[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def differences_table(experiment: Experiment, differences: Sequence[Difference]) -> Table:
    """A row for every pair that was compared."""
    columns = ["difference", SEEDS, "p, seeds", "95 % CI, rows", "p, rows"]
    table = Table(
        f"Differences in {experiment.compare_by}", columns, mark_best=False, corner="Rows"
    )
    for one in differences:
        interval = None
        if one.low is not None and one.high is not None:
            interval = f"{one.low:+.2f} to {one.high:+.2f}"
            if one.points_rows is not None and one.seeds_rows < one.seeds:
                interval += f" around {one.points_rows:+.2f}"
        table.rows.append(
            (
                f"{one.first} over {one.second}",
                [
                    f"{one.points:+.2f}",
                    str(one.seeds),
                    None if one.adjusted_seeds is None else f"{one.adjusted_seeds:.3f}",
                    interval,
                    p_over_rows(one),
                ],
            )
        )
    compared = {(one.first, one.second) for one in differences}
    without = [f"{a} over {b}" for a, b in experiment.compare if (a, b) not in compared]
    if without:
        table.notes.append(f"Not compared, for lack of a common seed: {'; '.join(without)}.")
    if differences:
        table.notes += _tests(differences)
    return table


def p_over_rows(one: Difference) -> str | None:
    """As it is shown; where it is the least that so many resamples can give, only a bound is known."""
    if one.adjusted_rows is None:
        return None
    is_least = one.p_rows == two_sided_p(np.ones(one.rounds or 1))
    return f"{'≤ ' if is_least else ''}{one.adjusted_rows:.3f}"


def _tests(differences: Sequence[Difference]) -> list[str]:
    tested = [one.seeds for one in differences if one.p_seeds is not None]
    notes = []
    if tested:
        floors = ", ".join(f"{least_p(n):.3g} with {n}" for n in sorted(set(tested)))
        notes.append(
            "p, seeds: paired permutation test over the seeds that both have, two-sided, adjusted by Holm's method "
            f"for the number of comparisons ({len(tested)}). Before that, the least possible p is 2/2^n for n seeds: "
            f"{floors}."
        )
    rounds = max(one.rounds for one in differences)
    if rounds:
        notes.append(
            f"p, rows: paired bootstrap over the rows of the test sets, {rounds:,} resamples, seeds averaged, "
            f"adjusted likewise ({sum(one.p_rows is not None for one in differences)}); the intervals are of "
            "one comparison each."
        )
        fewer = [
            f"{one.first} over {one.second} (of {one.seeds_rows})"
            for one in differences
            if 0 < one.seeds_rows < one.seeds
        ]
        if fewer:
            notes.append(
                f"The answers row by row of fewer seeds are at hand for {'; '.join(fewer)}: interval and p are of "
                "these."
            )
    else:
        notes.append(
            "No test over rows: the answers row by row or the gold scores are not at hand."
        )
    return notes
