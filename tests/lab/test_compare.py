"""Verdicts over seeds, against plain arithmetic and the definitions of the design."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import t, ttest_1samp

from clusterns.lab.compare import MARGIN, Difference, find_differences, seeds_needed
from clusterns.lab.experiment import Experiment
from clusterns.lab.outcomes import Line, Outcome


def line(label: str, values: dict[int, float], paper_row: str | None = None, **more: str) -> Line:
    outcomes = [
        Outcome(seed, {"values": {"sts/Avg.": value}}, {}) for seed, value in values.items()
    ]
    missing = {int(seed): why for seed, why in more.get("missing", {}).items()}
    return Line(label, label, paper_row=paper_row, outcomes=outcomes, missing=missing)


def compare(*differences: list[float], families: dict | None = None, paper: bool = False) -> list:
    """Rows that are better than a baseline by some differences, seed by seed."""
    names = [f"R{n}" for n in range(len(differences))]
    pairs = {"": [[name, "Base"] for name in names]}
    experiment = Experiment.model_validate(
        {
            "title": "T",
            "rows": {name: {} for name in (*names, "Base")},
            "compare": families or pairs,
        }
    )
    base = {seed: 50 + seed % 3 for seed in range(20)}
    lines = [line("Base", base, "SimCSE-BERT-base" if paper else None)]
    for name, gaps in zip(names, differences, strict=True):
        values = {seed: base[seed] + gap for seed, gap in enumerate(gaps)}
        lines.append(line(name, values, "ClusterNS-BERT-base" if paper else None))
    return find_differences(experiment, lines)


def test_interval_and_p_are_those_of_a_paired_t_test() -> None:
    gaps = [0.3, 1.29, 1.5, 0.58]
    (one,) = compare(gaps)
    error = np.std(gaps, ddof=1) / 2
    assert one.estimate == pytest.approx(np.mean(gaps))
    for level, found in ((0.975, one.interval), (0.95, one.narrow_interval)):
        reach = t.ppf(level, 3) * error
        assert found == pytest.approx((np.mean(gaps) - reach, np.mean(gaps) + reach))
    assert one.p == pytest.approx(2 * t.sf(np.mean(gaps) / error, 3))
    assert one.adjusted_p == one.p
    assert one.permutation_p is None


@pytest.mark.parametrize(
    ("deviation", "difference", "seeds"),
    [(0.8, 1.0, 8), (0.8, 0.7, 13), (0.0001, 0.7, 8), (3.0, 0.7, 20)],
)
def test_the_number_of_seeds_has_the_power_that_the_design_asks_for(
    deviation: float, difference: float, seeds: int
) -> None:
    assert seeds_needed(deviation, difference) == seeds
    if 8 < seeds < 20:
        shifted = np.random.default_rng(0).normal(difference, deviation, (2, 20_000, seeds))
        for n, low, high in ((seeds, 0.8, 0.83), (seeds - 1, 0.75, 0.8)):
            p = ttest_1samp(shifted[0, :, :n], 0, axis=1).pvalue
            assert low < (p < 0.05).mean() < high


def test_sign_flips_are_all_tried_from_six_seeds_on() -> None:
    gaps = [0.3, 1.29, -0.2, 0.58, 0.1, 0.9]
    (one,) = compare(gaps)
    flips = [abs(np.mean(np.multiply(signs, gaps))) for signs in product((1, -1), repeat=6)]
    assert one.permutation_p == pytest.approx(
        np.mean(np.array(flips) >= abs(np.mean(gaps)) - 1e-12)
    )
    assert compare(gaps[:5])[0].permutation_p is None


def test_holm_corrects_within_a_family_only() -> None:
    gaps = [[0.5, 0.9, 0.7, 0.4], [0.1, 0.9, 0.3, 0.5], [0.6, 0.7, 0.8, 0.7]]
    together = compare(*gaps)
    p = sorted(one.p for one in together)
    assert sorted(one.adjusted_p for one in together) == pytest.approx(
        [3 * p[0], max(3 * p[0], 2 * p[1]), max(2 * p[1], p[2])]
    )
    families = {"primary": [["R0", "Base"]], "secondary": [["R1", "Base"], ["R2", "Base"]]}
    first, *others = compare(*gaps, families=families)
    assert (first.family, first.adjusted_p) == ("primary", first.p)
    assert [one.family for one in others] == ["secondary"] * 2
    assert min(one.adjusted_p for one in others) == pytest.approx(2 * min(one.p for one in others))


@pytest.mark.parametrize(
    ("gaps", "verdicts"),
    [
        ([1.0, 1.2, 1.4, 1.6, 1.1, 1.5], ["shown"]),
        ([-1.0, -1.2, -1.4, -1.6], ["shown to be false", "excludes the paper's effect"]),
        ([0.1, -0.1, 0.05, -0.05], ["equivalent", "excludes the paper's effect"]),
        ([0.17, 0.2, 0.15, 0.18], ["shown", "equivalent", "excludes the paper's effect"]),
        ([3.0, -2.0, 1.0], ["undecided"]),
        ([9.0], ["undecided"]),
        ([0.0, 0.0, 0.0], ["equivalent", "excludes the paper's effect"]),  # the same trials
    ],
)
def test_the_verdicts_are_those_of_the_design(gaps: list[float], verdicts: list[str]) -> None:
    (one,) = compare(gaps, paper=True)
    assert one.paper == pytest.approx(1.30)
    assert one.verdicts == verdicts


def test_the_bounds_of_equivalence_are_on_the_90_percent_interval() -> None:
    def verdicts(narrow: tuple[float, float]) -> list[str]:
        return Difference("A", "B", {1: 0.0}, interval=(-9, 9), narrow_interval=narrow).verdicts

    assert verdicts((-MARGIN + 0.01, MARGIN - 0.01)) == ["equivalent"]
    assert verdicts((-MARGIN - 0.01, 0.0)) == verdicts((0.0, MARGIN + 0.01)) == ["undecided"]


def test_only_common_seeds_count_and_missing_ones_are_counted() -> None:
    experiment = Experiment.model_validate(
        {"title": "T", "rows": {"A": {}, "B": {}}, "compare": [["A", "B"]]}
    )
    ours = line("A", {1: 51.0, 2: 52.0, 3: 53.0})
    theirs = line("B", {1: 50.0, 2: 50.0, 9: 1.0}, missing={3: "not run"})
    (one,) = find_differences(experiment, [ours, theirs])
    assert one.by_seed == {1: 1.0, 2: 2.0}
    assert one.missing_seeds == 1
    assert find_differences(experiment, [ours]) == []
    assert find_differences(experiment, [ours, line("B", {9: 1.0})]) == []


def test_where_lower_is_better_a_lower_value_wins() -> None:
    values = {"title": "T", "rows": {"A": {}, "B": {}}, "compare": [["A", "B"]]}
    experiment = Experiment.model_validate(
        {**values, "evaluate": ["geometry"], "compare_by": "geometry/alignment"}
    )
    lines = [
        Line(name, name, outcomes=[Outcome(1, {"values": {"geometry/alignment": value}}, {})])
        for name, value in (("A", 0.2), ("B", 0.5))
    ]
    assert find_differences(experiment, lines)[0].estimate == pytest.approx(0.3)
