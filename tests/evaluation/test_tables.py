from __future__ import annotations

import pytest
from rich.console import Console

from clusterns.evaluation.catalog import AVERAGED
from clusterns.evaluation.results import SetResult, SuiteResult
from clusterns.evaluation.tables import published_rows, suite_table


def suite(truncated: float = 0.0, **values: float) -> SuiteResult:
    sets = {name: SetResult(value, "x", 70_000, truncated) for name, value in values.items()}
    return SuiteResult(sets)


def test_best_is_bold_ties_too_and_lower_wins_in_geometry() -> None:
    table = suite_table("sts", [("a", suite(STS12=1.0)), ("b", suite(STS12=2.001))])
    table.rows.append(("c", [2.0, None]))
    table.spreads.append([None, None])
    assert [line[1] for line in table.written("*{}*", "", "-")] == ["1.00", "*2.00*", "*2.00*"]
    geometry = suite_table("geometry", [("a", suite(alignment=1.0)), ("b", suite(alignment=2.0))])
    assert [line[1] for line in geometry.written("*{}*", "", "-")] == ["*1.000*", "2.000"]
    alone = suite_table("sts", [("a", suite(STS12=1.0))])
    assert alone.written("*{}*", "", "-") == [["a", "1.00"]]


def test_an_average_has_one_definition_and_none_where_a_set_is_missing() -> None:
    whole = {name: float(number) for number, name in enumerate(AVERAGED["transfer"])}
    models = [("a", suite(**whole)), ("b", suite(MR=3.0, CR=5.0))]
    published = {"p": {**whole, "Avg.": 3.02}, "half": {"MR": 1.0}, "other": {"STS12": 1.0}}
    table = suite_table("transfer", models, published)
    found = {label: values[-1] for label, values in table.rows}
    assert found == {"p (paper)": 3.02, "half (paper)": None, "a": 3.0, "b": None}
    assert table.notes == ["Avg.: the mean of MR, CR, SUBJ, MPQA, SST-2, TREC, MRPC."]
    assert "Avg." not in suite_table("transfer", models[1:], published).columns


def test_dbpedia_stays_out_of_the_average() -> None:
    names = AVERAGED["clustering"]
    short_texts = dict.fromkeys(names, 10.0)
    table = suite_table("clustering", [("a", suite(**short_texts, DBpedia=90.0))])
    assert table.columns == [*names, "DBpedia", "Avg."]
    assert table.rows[0][1][-2:] == [90.0, 10.0]
    assert "Avg." not in suite_table("geometry", [("a", suite(alignment=1, anisotropy=2))]).columns


def test_the_spread_is_explained() -> None:
    result = suite(AG=10.0)
    result.sets["AG"].spread = 1.5
    result.settings = {"kmeans_seeds": 10}
    table = suite_table("clustering", [("a", result)])
    assert table.notes == ["±: standard deviation over 10 K-means runs."]
    assert table.title.startswith("Clustering (clustering accuracy")


def test_notes_tell_what_is_missing_and_truncated() -> None:
    result = suite(0.25, STS12=1.0)
    result.missing = ["SICK-R"]
    notes = suite_table("sts", [("a", result)]).notes
    assert notes == [
        "Not evaluated: SICK-R.",
        "Sentences longer than a model reads: STS12 25 %.",
    ]


def test_terminal_table_fits_80_columns() -> None:
    numbers = {f"set-{i}": 50.0 + i for i in range(9)}
    result = suite(**numbers)
    for one in result.sets.values():
        one.spread = 1.5
    for count in (1, 3, 8):
        models = [(f"model number {i}", result) for i in range(count)]
        console = Console(width=80)
        with console.capture() as captured:
            suite_table("clustering", models).show(console)
        shown = captured.get()
        assert "58.00" in shown
        assert "…" not in shown
        assert "model" in shown


@pytest.mark.parametrize(("suite", "count"), [("sts", 28), ("transfer", 11)])
def test_printed_averages_fit_their_rows(suite: str, count: int) -> None:  # to the paper's rounding
    rows, names = published_rows(suite), AVERAGED[suite]
    assert len(rows) == count
    off = [
        label
        for label, numbers in rows.items()
        if abs(sum(numbers[name] for name in names) / len(names) - numbers["Avg."]) > 0.02
    ]
    assert off == []
    assert published_rows("geometry") == {}
    assert published_rows("clustering")["RoBERTa-base"] == {"DBpedia": 69.26}


def test_the_same_model_has_the_same_average_in_every_table() -> None:
    roberta = published_rows("sts")["ClusterNS-RoBERTa-base"]["Avg."]
    assert published_rows("ablations")["ClusterNS"]["Avg., RoBERTa-base"] == roberta
    assert published_rows("sigma")["ClusterNS, sigma 0.4"]["Avg."] == roberta
    for name in ("false-negatives", "initialisation"):
        assert published_rows(name)["ClusterNS"]["Avg."] == roberta
    without = published_rows("ablations")["without false negatives"]["Avg., RoBERTa-base"]
    assert published_rows("false-negatives")["without the margin loss"]["Avg."] == without
    assert published_rows("sigma")["without the margin loss, sigma 0.4"]["Avg."] == without
    assert published_rows("ablations")["SimCSE"]["Avg."] == 76.25
