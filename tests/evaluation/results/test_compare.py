from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from clusterns.evaluation.data.find import MissingData
from clusterns.evaluation.data.sets import ScoredPairs
from clusterns.evaluation.results.compare import (
    bootstrap,
    comparable,
    difference_table,
    find_differences,
    gold_scores,
    spearman_columns,
)
from clusterns.evaluation.results.results import Results, SetResult, SuiteResult

RANDOM = np.random.default_rng(0)
GOLD = RANDOM.integers(0, 11, size=400) / 2
PAIRS = ScoredPairs(["a"] * 400, ["b"] * 400, GOLD, "STS12")


def model(name: str, noise: float, rate: float, digest: str = PAIRS.digest) -> Results:
    random = np.random.default_rng(len(name))
    suites = {
        "sts": SuiteResult({"STS12": SetResult(0, "Spearman", 400, 0, digest=digest)}),
        "transfer": SuiteResult({"MR": SetResult(0, "accuracy", 500, 0, digest="mr")}),
    }
    items = {
        "sts/STS12": (GOLD + noise * random.normal(size=400)).astype(np.float32),
        "transfer/MR": random.random(500) < rate,
    }
    return Results(name, suites=suites, items=items)


def test_spearman_of_columns_equals_scipy() -> None:
    answers = np.column_stack([RANDOM.normal(size=400), np.round(GOLD), np.ones(400)])
    found = spearman_columns(answers, GOLD)
    expected = [100 * spearmanr(answers[:, i], GOLD).statistic for i in range(2)]
    np.testing.assert_allclose(found, [*expected, 0])


def test_bootstrap_is_paired_and_seeded() -> None:
    answers = RANDOM.normal(size=(400, 1)).repeat(2, axis=1)
    sample = bootstrap(answers, GOLD, spearman_columns, 50, 7)
    np.testing.assert_array_equal(sample[:, 0], sample[:, 1])
    np.testing.assert_array_equal(sample, bootstrap(answers, GOLD, spearman_columns, 50, 7))
    assert sample[1:, 0].std() > 0


def test_interval_of_an_accuracy_is_the_binomial_one() -> None:
    right = np.zeros((1000, 2))
    right[:600, 0] = 1
    sample = bootstrap(right, right[:, 0], lambda a, _: 100 * a.mean(axis=0), 2000, 0)
    expected = 100 * np.sqrt(0.6 * 0.4 / 1000)
    assert sample[1:, 0].std() == pytest.approx(expected, rel=0.1)


def test_clear_differences_are_real_and_slight_ones_are_not() -> None:
    models = [model("clear", 1, 0.9), model("noisy one", 4, 0.6), model("noisy two2", 4, 0.6)]
    found = {
        (one.suite, one.first, one.second): one
        for one in find_differences(models, {"sts/STS12": GOLD}, rounds=300)
    }
    for suite in ("sts", "transfer"):
        assert found[suite, "clear", "noisy one"].real
        assert found[suite, "clear", "noisy one"].low > 10
        assert not found[suite, "noisy one", "noisy two2"].real
    one = found["sts", "clear", "noisy one"]
    assert one.low < one.points < one.high


def test_average_over_the_sets_of_a_suite() -> None:
    models = [model("a", 1, 0.9), model("b2", 4, 0.6)]
    for each in models:
        each.suites["transfer"].sets["CR"] = SetResult(0, "accuracy", 500, 0, digest="cr")
        each.items["transfer/CR"] = each.items["transfer/MR"][::-1]
    found = {one.name: one for one in find_differences(models, {}, rounds=100)}
    assert set(found) == {"MR", "CR", "Avg."}
    assert found["Avg."].points == pytest.approx((found["MR"].points + found["CR"].points) / 2)


def test_only_answers_to_the_same_rows_are_compared() -> None:
    models = [model("a", 1, 0.9), model("b", 1, 0.9, digest="others")]
    assert comparable(models) == ["transfer/MR"]
    assert comparable(models[:1]) == []


def test_gold_scores_are_read_again_and_checked() -> None:
    models = [model("a", 1, 0.9), model("b", 1, 0.9)]
    gold, without = gold_scores(models, lambda name: PAIRS)
    assert (list(gold), without) == (["sts/STS12"], [])

    def missing(name: str) -> ScoredPairs:
        raise MissingData(name, "", [], "")

    assert gold_scores(models, missing) == ({}, ["STS12"])
    other = ScoredPairs(["a"] * 400, ["c"] * 400, GOLD, "STS12")
    assert gold_scores(models, lambda name: other) == ({}, ["STS12"])


def test_table_says_where_a_difference_is_real() -> None:
    models = [model("clear", 1, 0.6), model("noisy one", 4, 0.6)]
    table = difference_table(find_differences(models, {"sts/STS12": GOLD}, rounds=200))
    rows = dict(table.rows)
    assert str(rows["sts: clear over noisy one"][2]).startswith("STS12 +")
    assert rows["transfer: clear over noisy one"][2] == ""
    assert str(rows["transfer: clear over noisy one"][0]).endswith("(not real)")
