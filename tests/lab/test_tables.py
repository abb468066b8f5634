"""Tables of an experiment."""

from __future__ import annotations

import pytest

from clusterns.errors import UserError
from clusterns.lab.differences import Difference
from clusterns.lab.experiment import Experiment
from clusterns.lab.outcomes import Line, Outcome
from clusterns.lab.tables import differences_table, scores_table


def experiment(**values: object) -> Experiment:
    rows = {"A": {"settings": {}}, "B": {"settings": {}}}
    return Experiment.model_validate({"title": "T", "rows": rows, **values})


def line(label: str, averages: dict[int, float], **more: object) -> Line:
    outcomes = [
        Outcome(seed, {"values": {"sts/STS12": value - 1, "sts/Avg.": value}}, {})
        for seed, value in averages.items()
    ]
    return Line(label, label, outcomes=outcomes, **more)  # type: ignore[arg-type]


def test_mean_and_deviation_over_seeds_with_the_papers_row_and_what_is_missing() -> None:
    lines = [
        line(
            "A", {1: 50.0, 2: 52.0}, paper_row="SimCSE-BERT-base", missing={3: "the disk is full"}
        ),
        line("B", {1: 49.0}),
        line("C", {}, missing={1: "not run", 2: "not run"}),
    ]
    table = scores_table(experiment(), lines)
    assert table.columns == ["STS12", "Avg.", "seeds"]
    assert table.markdown().splitlines()[2:8] == [
        "| Model | STS12 | Avg. | seeds |",
        "|---|---:|---:|---:|",
        "| A | 50.00 ± 1.41 | 51.00 ± 1.41 | 2 of 3 |",
        "| SimCSE-BERT-base (paper) | 68.40 | 76.25 | - |",
        "| B | 48.00 | 49.00 | 1 |",
        "| C | - | - | 0 of 2 |",
    ]
    assert "Missing: A, seed 3: the disk is full." in table.notes
    assert "Missing: C, seeds 1, 2: not run." in table.notes
    # The best is marked where all seeds are there.
    assert (
        "| A | **50.00** ± 1.41 |"
        in scores_table(experiment(), [line("A", {1: 50.0, 2: 52.0}), lines[1]]).markdown()
    )


def test_the_best_is_marked_of_scores_only() -> None:
    columns = {"STS": "sts/Avg.", "dev": "dev", "negatives": "last/negative_similarity"}
    values = [{"sts/Avg.": v, "dev": v, "last/negative_similarity": v} for v in (1.0, 2.0)]
    lines = [
        Line(name, name, outcomes=[Outcome(1, {"values": each}, {})])
        for name, each in zip("AB", values, strict=True)
    ]
    shown = scores_table(experiment(table={"columns": columns}), lines).markdown()
    assert "| B | **2.00** | **2.00** | 2.00 | 1 |" in shown


def test_an_average_over_other_sets_than_the_papers_is_said() -> None:
    def judged(*names: str) -> Line:
        result = {"values": {"sts/Avg.": 1.0}, "suites": {"sts": {"sets": dict.fromkeys(names)}}}
        return Line("A", "A", outcomes=[Outcome(1, result, {})])

    few = judged("STS12", "STS13", "STS14", "STS15", "STS16")
    notes = scores_table(experiment(), [few, few]).notes
    assert notes[-1] == "The average is without STS-B, SICK-R; the paper's is over all."
    notes = scores_table(experiment(), [few, judged("STS12")]).notes
    assert notes[-1].startswith("sts: not all trials were evaluated on the same sets")
    whole = judged("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
    assert len(scores_table(experiment(), [whole]).notes) == 1


def test_columns_by_name_digits_and_what_a_line_does_not_have() -> None:
    wanted = {"columns": {"STS": "sts/Avg.", "align": "geometry/alignment"}, "digits": 1}
    lines = [line("A", {1: 50.0, 2: 52.0}), line("B", {1: 49.0})]
    geometry = Outcome(2, {"values": {"geometry/alignment": 0.25, "sts/Avg.": 1.0}}, {})
    lines.append(Line("D", "D", outcomes=[geometry]))
    lines.append(Line("E", "E", outcomes=[Outcome(1, {"values": {"geometry/alignment": 0.5}}, {})]))
    table = scores_table(experiment(table=wanted, evaluate=["sts", "geometry"]), lines)
    assert "| D | 1.0 | **0.2** | 1 |" in table.markdown()
    assert "| A | **51.0** ± 1.4 | - | 2 |" in table.markdown()
    assert "Without align: A, B." in table.notes
    assert "Without STS: E." in table.notes


def test_clustering_that_never_started_is_said() -> None:
    def outcome(seed: int, method: str, started: int | None) -> Outcome:
        run = {"steps": 40, "clustering_started_at": started}
        result = {"settings": {"method": method}, "run": run, "values": {"sts/Avg.": 50.0}}
        return Outcome(seed, result, {})

    ours = Line("A", "A", outcomes=[outcome(n, "clusterns", s) for n, s in ((1, 9), (2, None))])
    simcse = Line("B", "B", outcomes=[outcome(1, "simcse", None)])
    notes = scores_table(experiment(), [ours, simcse]).notes
    assert notes[1:] == ["A, seed 2: clustering never started, so it is SimCSE."]


def test_a_run_that_ended_as_its_base_is_said() -> None:
    def outcome(seed: int, steps: int, best: int) -> Outcome:
        run = {"steps": steps, "best_step": best}
        values = {"sts/Avg.": 50.0, "dev": 50.0, "dev_last": 40.0 + seed}
        return Outcome(seed, {"run": run, "values": values}, {})

    trained = Line("A", "A", outcomes=[outcome(1, 40, 0), outcome(2, 40, 20), outcome(3, 40, 0)])
    untrained = Line("B", "B", outcomes=[outcome(1, 0, 0)])
    notes = scores_table(experiment(), [trained, untrained]).notes
    assert notes[1:] == [
        "A, seeds 1, 3: no step was better than the base, so the scores are the base's; dev of the last step: "
        "41.00, 43.00."
    ]
    columns = {"Avg.": "sts/Avg.", "STS-B dev": "dev"}
    table = scores_table(experiment(table={"columns": columns}), [trained])
    assert table.columns == ["Avg.", "STS-B dev", "STS-B dev, last step", "seeds"]
    assert "| A | 50.00 ± 0.00 | 50.00 ± 0.00 | 42.00 ± 1.00 | 3 |" in table.markdown()
    alone = scores_table(experiment(table={"columns": columns}), [untrained])
    assert alone.columns == ["Avg.", "STS-B dev", "seeds"]


def test_a_part_that_did_nothing_is_named() -> None:
    def outcome(seed: int, started: int, **curves: list[float]) -> Outcome:
        run = {"clustering_started_at": started}
        found = {key: list(enumerate(values)) for key, values in curves.items()}
        return Outcome(seed, {"run": run, "values": {"sts/Avg.": 50.0}}, found)

    quiet = [
        outcome(1, 1),
        outcome(2, 5, judged_false_negatives=[0.0, 0.0]),
        outcome(3, 5, hard_negative_share=[0.004, 0.002]),
    ]
    active = outcome(4, 5, judged_false_negatives=[0.0, 0.1], hard_negative_share=[0.03, 0.01])
    notes = scores_table(experiment(), [Line("A", "A", outcomes=[*quiet, active])]).notes
    assert notes[1:] == [
        "A, seed 1: sigma was reached at step 1, so its value had no effect.",
        "A, seed 2: the guide called no pair a false negative.",
        "A, seed 3: centroids made up 0.3 % of the denominator.",
    ]


def test_a_row_that_the_paper_has_not_is_named() -> None:
    with pytest.raises(UserError, match="no row 'SimCSE-BERT-huge'"):
        scores_table(experiment(), [line("A", {1: 1.0}, paper_row="SimCSE-BERT-huge")])


def test_differences_say_what_their_tests_can_show() -> None:
    found = [
        Difference("A", "B", 1.234, 5, 0.0625, 0.125, 0.5, 2.0, 0.0004, 0.0008, 4999, 4, 1.5),
        Difference("A", "C", -0.5, 3, 0.5, 0.5, -1.0, 0.1, 0.2, 0.2, 4999, 3, -0.5),
        Difference("A", "D", 0.1, 1),
    ]
    table = differences_table(
        experiment(compare=[["A", "B"]], rows={"A": {}, "B": {}, "C": {}, "D": {}}), found
    )
    assert [row for _, row in table.rows] == [
        ["+1.23", "5", "0.125", "+0.50 to +2.00 around +1.50", "≤ 0.001"],
        ["-0.50", "3", "0.500", "-1.00 to +0.10", "0.200"],
        ["+0.10", "1", None, None, None],
    ]
    notes = " ".join(table.notes)
    assert "for the number of comparisons (2)" in notes
    assert "2/2^n for n seeds: 0.25 with 3, 0.0625 with 5" in notes
    assert "4,999 resamples" in notes
    assert "for A over B (of 4): interval and p are of these." in notes
    assert r"$\le$ 0.001" in table.latex()


def test_pairs_without_a_common_seed_are_said() -> None:
    asked = experiment(compare=[["A", "B"]])
    table = differences_table(asked, [])
    assert table.notes == ["Not compared, for lack of a common seed: A over B."]
    single = differences_table(asked, [Difference("A", "B", 1.0, 2, 0.5, 0.5)])
    assert "No test over rows" in single.notes[-1]
