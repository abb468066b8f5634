"""Tables of an experiment."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusterns.errors import UserError
from clusterns.lab.compare import Difference, find_differences
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
    assert "A, seed 3: missing, the disk is full." in table.notes
    assert "C, seeds 1, 2: missing, not run." in table.notes
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


def test_an_average_over_other_sets_than_the_paper_s_is_noted() -> None:
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


def test_clustering_that_never_started_is_noted() -> None:
    def outcome(seed: int, method: str, started: int | None) -> Outcome:
        run = {"steps": 40, "clustering_started_at": started}
        result = {"settings": {"method": method}, "run": run, "values": {"sts/Avg.": 50.0}}
        return Outcome(seed, result, {})

    ours = Line("A", "A", outcomes=[outcome(n, "clusterns", s) for n, s in ((1, 9), (2, None))])
    simcse = Line("B", "B", outcomes=[outcome(1, "simcse", None)])
    notes = scores_table(experiment(), [ours, simcse]).notes
    assert notes[1:] == ["A, seed 2: clustering never started, so it is SimCSE."]


def test_a_run_that_ended_as_its_base_is_noted() -> None:
    def outcome(seed: int, steps: int, best: int) -> Outcome:
        run = {"steps": steps, "best_step": best}
        values = {"sts/Avg.": 50.0, "dev": 50.0, "dev_last": 40.0 + seed}
        return Outcome(seed, {"run": run, "values": values}, {})

    trained = Line("A", "A", outcomes=[outcome(1, 40, 0), outcome(2, 40, 20), outcome(3, 40, 0)])
    untrained = Line("B", "B", outcomes=[outcome(1, 0, 0)])
    notes = scores_table(experiment(), [trained, untrained]).notes
    base = "no step was better than the base, so the scores are the base's; dev of the last step: "
    assert notes[1:] == [f"A, seed 1: {base}41.00.", f"A, seed 3: {base}43.00."]
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


def test_the_estimate_with_its_interval_comes_before_the_verdict() -> None:
    families = {"primary": [["A", "B"]], "secondary": [["A", "C"], ["A", "D"]]}
    asked = experiment(compare=families, rows={name: {} for name in "ABCD"})
    seeds = range(1, 7)
    lines = [
        line("A", {n: 51 + n / 10 for n in seeds}),
        line("B", {n: 50 + n / 20 for n in seeds}, missing={7: "not run"}),
        line("C", {1: 51.0}),
        line("D", {9: 1.0}),
    ]
    lines[0] = replace(lines[0], missing={7: "not run"})
    table = differences_table(asked, find_differences(asked, lines))
    assert [row for _, row in table.rows] == [
        ["+1.18", "+1.08 to +1.27", "6 of 7", "< 0.001", "0.031", None, "shown"],
        ["+0.10", None, "1", None, None, None, "undecided"],
    ]
    notes = " ".join(table.notes)
    assert "Not compared, for lack of a common seed: A over D." in notes
    assert "Holm's method within each family (primary: 1, secondary: 0)" in notes
    assert "from 6 seeds on: with n seeds it cannot be below 2/2^n" in notes
    assert differences_table(asked, []).notes == [
        "Not compared, for lack of a common seed: A over B; A over C; A over D."
    ]


def test_several_verdicts_are_all_printed() -> None:
    one = Difference(
        "A", "B", {1: 0.1}, narrow_interval=(-0.1, 0.2), interval=(-0.2, 0.3), paper=1.3
    )
    table = differences_table(experiment(compare=[["A", "B"]]), [one])
    assert table.rows[0][1][-2:] == ["+1.30", "equivalent, excludes the paper's effect"]


def test_a_row_of_the_paper_stands_below_the_first_line_that_names_it() -> None:
    lines = [line(name, {1: 1.0}, paper_row="SimCSE-BERT-base") for name in "AB"]
    labels = [label for label, _ in scores_table(experiment(), lines).rows]
    assert labels == ["A", "SimCSE-BERT-base (paper)", "B"]
