"""Tables of an experiment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from clusterns.lab.compare import Difference, find_differences
from clusterns.lab.experiment import Experiment
from clusterns.lab.outcomes import Line, Outcome
from clusterns.lab.tables import differences_table, scores_table

COLUMNS = {"columns": {"Avg.": "sts/Avg.", "STS-B dev": "dev"}}


def experiment(**values: object) -> Experiment:
    return Experiment.model_validate({"title": "T", "rows": {"A": {}, "B": {}}, **values})


def outcome(seed: int, values: dict[str, float], **result: Any) -> Outcome:
    return Outcome(seed, {"values": values, **result}, {})


def line(label: str, averages: dict[int, float], **more: Any) -> Line:
    outcomes = [
        outcome(seed, {"sts/STS12": value - 1, "sts/Avg.": value})
        for seed, value in averages.items()
    ]
    return Line(label, label, outcomes=outcomes, **more)


def notes_of(*outcomes: Outcome) -> list[str]:
    return scores_table(experiment(), [Line("A", "A", outcomes=outcomes)]).notes[1:]


def test_mean_and_deviation_over_seeds_with_the_papers_row_and_what_is_missing() -> None:
    lines = [
        line(
            "A", {1: 50.0, 2: 52.0}, paper_row="SimCSE-BERT-base", missing={3: "the disk is full"}
        ),
        line("B", {1: 49.0}, paper_row="SimCSE-BERT-base"),
        line("C", {}, missing={1: "not run", 2: "not run"}),
    ]
    table = scores_table(experiment(), lines)
    assert table.markdown().splitlines()[2:8] == [
        "| Model | STS12 | Avg. | seeds |",
        "|---|---:|---:|---:|",
        "| A | 50.00 ± 1.41 | 51.00 ± 1.41 | 2 of 3 |",
        "| SimCSE-BERT-base (paper) | 68.40 | 76.25 | - |",
        "| B | 48.00 | 49.00 | 1 |",
        "| C | - | - | 0 of 2 |",
    ]
    assert "A, seed 3: missing, the disk is full." in table.notes
    assert "C, seeds 1, 2: missing, not run." in table.notes
    # The best is marked where all seeds are there.
    whole = scores_table(experiment(), [line("A", {1: 50.0, 2: 52.0}), lines[1]])
    assert "| A | **50.00** ± 1.41 |" in whole.markdown()


def test_columns_by_name_digits_and_the_best_of_scores_only() -> None:
    columns = {"STS": "sts/Avg.", "align": "geometry/alignment", "neg": "last/negative_similarity"}
    lines = [line("A", {1: 50.0, 2: 52.0}), line("B", {1: 49.0})]
    values = {"geometry/alignment": 0.25, "sts/Avg.": 1.0, "last/negative_similarity": 2.0}
    lines.append(Line("D", "D", outcomes=[outcome(2, values)]))
    lines.append(Line("E", "E", outcomes=[outcome(1, {"geometry/alignment": 0.5})]))
    asked = experiment(table={"columns": columns, "digits": 1}, evaluate=["sts", "geometry"])
    table = scores_table(asked, lines)
    assert "| D | 1.0 | **0.2** | 2.0 | 1 |" in table.markdown()
    assert "| A | **51.0** ± 1.4 | - | - | 2 |" in table.markdown()
    assert "Without align: A, B." in table.notes
    assert "Without STS: E." in table.notes


def test_an_average_over_other_sets_than_the_paper_s_is_noted() -> None:
    def judged(*names: str) -> Outcome:
        return outcome(1, {"sts/Avg.": 1.0}, suites={"sts": {"sets": dict.fromkeys(names)}})

    few = ("STS12", "STS13", "STS14", "STS15", "STS16")
    assert notes_of(judged(*few)) == [
        "The average is without STS-B, SICK-R; the paper's is over all."
    ]
    assert notes_of(judged(*few), judged("STS12"))[0].startswith(
        "sts: not all trials were evaluated on the same sets"
    )
    assert notes_of(judged(*few, "STS-B", "SICK-R")) == []


def test_the_last_step_stands_beside_a_selected_one_and_the_base_is_not_a_row_s_score() -> None:
    def ended(seed: int, steps: int, best: int) -> Outcome:
        values = {"sts/Avg.": 50.0, "dev": 50.0, "dev_last": 40.0 + seed}
        return outcome(seed, values, run={"steps": steps, "best_step": best})

    some = Line("A", "A", outcomes=[ended(1, 40, 0), ended(2, 40, 20)])
    untrained = Line("B", "B", outcomes=[ended(1, 0, 0)])
    collapsed = Line("C", "C", outcomes=[ended(1, 40, 0), ended(3, 40, 0)])
    table = scores_table(experiment(table=COLUMNS), [some, untrained, collapsed])
    assert table.columns == ["Avg.", "STS-B dev", "STS-B dev, last step", "seeds"]
    for row in (
        "| A | 50.00 ± 0.00 | 50.00 ± 0.00 | 41.50 ± 0.71 | 2 |",
        "| B | 50.00 | 50.00 | - | 1 |",  # what has no steps has no last one
        "| C | = base | = base | 42.00 ± 1.41 | 2 |",
    ):
        assert row in table.markdown().replace("**", "")
    said = "no step was better than the base, so the scores are the base's; dev of the last step: "
    assert table.notes[1:] == [f"{row}: {said}" + end for row, end in (
        ("A, seed 1", "41.00."), ("C, seed 1", "41.00."), ("C, seed 3", "43.00."),
    )]  # fmt: skip
    assert scores_table(experiment(), [some]).columns == ["Avg.", "dev", "dev, last step", "seeds"]
    last = scores_table(experiment(table=COLUMNS), [untrained])
    assert last.columns == ["Avg.", "STS-B dev", "seeds"]
    pairs = experiment(compare=[["A", "B"]])
    assert find_differences(pairs, [replace(collapsed, label="A"), line("B", {1: 4.0})]) == []
    (one,) = find_differences(pairs, [some, line("B", {1: 40.0, 2: 40.0})])
    assert one.by_seed == {1: 10.0, 2: 10.0}


def test_a_part_that_did_nothing_is_named() -> None:
    def ran(seed: int, started: int | None, settings: Any = (), **curves: list[float]) -> Outcome:
        run = {"clustering_started_at": started, "steps": 40}
        one = outcome(
            seed, {"sts/Avg.": 50.0}, run=run, settings={"method": "clusterns", **dict(settings)}
        )
        return replace(one, curves={key: list(enumerate(v)) for key, v in curves.items()})

    assert notes_of(
        ran(1, 1),
        ran(2, 5, judged_false_negatives=[0.0, 0.0]),
        ran(3, 5, hard_negative_share=[0.004, 0.002]),
        ran(4, 5, judged_false_negatives=[0.0, 0.1], hard_negative_share=[0.03, 0.01]),
        ran(5, None),
        ran(6, 1, {"start_step": 1}),
    ) == [
        "A, seed 1: sigma was reached at step 1, so its value had no effect.",
        "A, seed 2: the guide called no pair a false negative.",
        "A, seed 3: centroids made up 0.3 % of the denominator.",
        "A, seed 5: clustering never started, so it is SimCSE.",
    ]


def test_the_estimate_with_its_interval_comes_before_the_verdict() -> None:
    families = {"primary": [["A", "B"]], "secondary": [["A", "C"], ["A", "D"]]}
    asked = experiment(compare=families, rows={name: {} for name in "ABCD"})
    seeds = range(1, 7)
    lines = [
        line("A", {n: 51 + n / 10 for n in seeds}, missing={7: "not run"}),
        line("B", {n: 50 + n / 20 for n in seeds}, missing={7: "not run"}),
        line("C", {1: 51.0, 2: 51.0}),
        line("D", {9: 1.0}),
    ]
    table = differences_table(asked, find_differences(asked, lines))
    assert [row for _, row in table.rows] == [
        ["+1.18", "+1.08 to +1.27", "6 of 7", "< 0.001", "0.031", None, "shown"],
        ["+0.15", "-0.49 to +0.79", "2", "0.205", None, None, "undecided"],
    ]
    notes = " ".join(table.notes)
    assert "Not compared, for lack of a common seed: A over D." in notes
    assert "Holm's method within each family (primary: 1, secondary: 1)" in notes
    assert "from 6 seeds on: with n seeds it cannot be below 2/2^n" in notes
    assert differences_table(asked, []).notes == [
        "Not compared, for lack of a common seed: A over B; A over C; A over D."
    ]
    described = experiment(compare={"descriptive": [["A", "B"]]})
    table = differences_table(described, find_differences(described, lines))
    assert table.rows[0][1][1:] == ["+1.08 to +1.27", "6 of 7", None, None, None, "descriptive"]
    assert table.notes == []


def test_several_verdicts_are_all_printed() -> None:
    one = Difference(
        "A", "B", {1: 0.1}, narrow_interval=(-0.1, 0.2), interval=(-0.2, 0.3), paper=1.3
    )
    table = differences_table(experiment(compare=[["A", "B"]]), [one])
    assert table.rows[0][1][-2:] == ["+1.30", "equivalent, excludes the paper's effect"]
