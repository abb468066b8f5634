from __future__ import annotations

import numpy as np
import pytest

from clusterns.errors import UserError
from clusterns.evaluation.data.find import MissingData
from clusterns.evaluation.data.sets import ScoredPairs
from clusterns.evaluation.results.compare import (
    Difference,
    comparable,
    difference_table,
    find_differences,
    gold_scores,
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


def differences(*models: Results, **more: object) -> dict[tuple[str, ...], Difference]:
    found = find_differences(models, {"sts/STS12": GOLD}, **more)  # type: ignore[arg-type]
    return {(one.suite, one.name, one.first, one.second): one for one in found.differences}


def test_clear_differences_are_significant_and_slight_ones_are_not() -> None:
    found = differences(
        model("clear", 1, 0.9), model("noisy one", 4, 0.6), model("noisy two2", 4, 0.6)
    )
    for suite, name in (("sts", "STS12"), ("transfer", "MR")):
        one = found[suite, name, "clear", "noisy one"]
        assert one.significant
        assert 10 < one.low < one.points < one.high
        assert one.p <= one.adjusted < 0.01
        assert not found[suite, name, "noisy one", "noisy two2"].significant


def with_twins(one: Results, count: int) -> Results:
    """Sets of equal size, and all alike."""
    for number in range(count):
        one.suites["transfer"].sets[f"CR{number}"] = SetResult(0, "accuracy", 500, 0, digest="cr")
        one.items[f"transfer/CR{number}"] = one.items["transfer/MR"]
    return one


def test_the_average_over_the_sets_of_a_suite() -> None:
    found = differences(with_twins(model("a", 1, 0.9), 1), with_twins(model("b2", 4, 0.6), 1))
    names = [name for suite, name, *_ in found if suite == "transfer"]
    assert names == ["MR", "CR0", "Avg."]
    points = [found["transfer", name, "a", "b2"].points for name in names]
    assert points[2] == pytest.approx((points[0] + points[1]) / 2)


def test_sets_of_equal_size_share_no_resamples() -> None:
    """The interval of a mean of four independent sets is half as wide as that of one."""
    found = differences(with_twins(model("a", 1, 0.9), 3), with_twins(model("b2", 4, 0.6), 3))
    widths = {
        name: one.high - one.low for (suite, name, *_), one in found.items() if suite == "transfer"
    }
    assert widths["Avg."] == pytest.approx(widths["MR"] / 2, rel=0.15)


def test_a_set_has_the_same_resamples_whatever_is_beside_it() -> None:
    alone = differences(model("a", 1, 0.9), model("b2", 4, 0.6), rounds=2000)
    beside = differences(
        with_twins(model("a", 1, 0.9), 2), with_twins(model("b2", 4, 0.6), 2), rounds=2000
    )
    key = ("transfer", "MR", "a", "b2")
    assert (alone[key].low, alone[key].high) == (beside[key].low, beside[key].high)
    other = differences(model("a", 1, 0.9), model("b2", 4, 0.6), rounds=2000, seed=1)
    assert other[key].low != alone[key].low


def test_many_comparisons_of_equal_models_call_nothing_significant() -> None:
    """Twenty models without any difference: 190 comparisons, of which 5 % would be 'found'."""
    random = np.random.default_rng(12)
    models = []
    for number in range(20):
        suites = {"transfer": SuiteResult({"MR": SetResult(0, "accuracy", 60, 0, digest="mr")})}
        items = {"transfer/MR": random.random(60) < 0.7}
        models.append(Results(f"m{number}", suites=suites, items=items))
    found = find_differences(models, {}, rounds=7600)
    assert len(found.differences) == 190
    assert sum(one.p <= 0.05 for one in found.differences) > 1
    assert not any(one.significant for one in found.differences)


def test_too_few_rounds_are_refused() -> None:
    with pytest.raises(UserError, match="for 2 comparisons 79 are needed"):
        differences(model("a", 1, 0.9), model("b2", 4, 0.6), rounds=78)
    one = differences(model("a", 0, 1.0), model("b2", 9, 0.1), rounds=79)
    assert one["sts", "STS12", "a", "b2"].significant


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


def test_own_gold_scores_are_kept_with_the_answers() -> None:
    models = []
    for name in ("a", "b"):
        own = SuiteResult({"mine": SetResult(0, "Spearman", 3, 0, digest="d")})
        models.append(Results(name, suites={"own": own}, items={"own/mine": np.arange(3.0)}))
    assert gold_scores(models, lambda name: PAIRS) == ({}, ["mine"])  # older records lack them
    models[1].items["gold/own/mine"] = np.array([1.0, 2.0, 3.0])
    gold, without = gold_scores(models, lambda name: PAIRS)
    assert (gold["own/mine"].tolist(), without) == ([1, 2, 3], [])


def test_a_set_from_the_hub_is_looked_for_by_its_name() -> None:
    models = [model("a", 1, 0.9), model("b", 1, 0.9)]
    for each in models:
        sets = each.suites["sts"].sets
        sets["STS12 (Hub)"] = sets.pop("STS12")
        each.items["sts/STS12 (Hub)"] = each.items.pop("sts/STS12")
    asked = []
    gold, _ = gold_scores(models, lambda name: (asked.append(name), PAIRS)[1])
    assert (asked, list(gold)) == (["STS12"], ["sts/STS12 (Hub)"])


def test_table_says_where_a_difference_is_significant() -> None:
    models = [model("clear", 1, 0.6), model("noisy one", 4, 0.6)]
    table = difference_table(find_differences(models, {"sts/STS12": GOLD}))
    rows = dict(table.rows)
    average, interval, p, significant, rest = rows["sts: clear over noisy one"]
    assert str(significant).startswith("STS12 +")
    assert rest == ""
    assert p == "≤ 0.004"  # 2 / 1001, doubled for two comparisons
    assert str(interval).startswith("+")
    assert str(average).startswith("+")
    assert rows["transfer: clear over noisy one"][3] == ""
    assert "Holm's method for all 2 comparisons" in table.notes[0]
    assert "real" not in table.notes[0]
