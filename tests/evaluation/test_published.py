from __future__ import annotations

import pytest

from clusterns.evaluation.catalog import AVERAGED
from clusterns.evaluation.tables import published_rows


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


def test_clustering_rows() -> None:
    rows = published_rows("clustering")
    assert set(rows["SimCSE-RoBERTa-base"]) == {*AVERAGED["clustering"], "Avg.", "DBpedia"}
    assert rows["RoBERTa-base"] == {"DBpedia": 69.26}
    assert rows["ClusterNS-BERT-base"]["Avg."] == 62.31


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


def test_suites_without_a_table() -> None:
    assert published_rows("geometry") == {}
