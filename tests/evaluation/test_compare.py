from __future__ import annotations

import numpy as np
import pytest

from clusterns.errors import UserError
from clusterns.evaluation import compare
from clusterns.evaluation.catalog import AVERAGED, MissingData
from clusterns.evaluation.compare import (
    Difference,
    Gold,
    comparable,
    difference_table,
    find_differences,
    gold_scores,
)
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.results import Results, SetResult, SuiteResult

RANDOM = np.random.default_rng(0)
TRANSFER = AVERAGED["transfer"]
GOLD = RANDOM.integers(0, 11, size=400) / 2
PAIRS = ScoredPairs([f"a{n}" for n in range(400)], ["b"] * 400, GOLD, "STS12")
STS12 = Gold(GOLD, np.arange(400))


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
    return Results(name, suites=suites, predictions=items)


def differences(*models: Results, **more: object) -> dict[tuple[str, ...], Difference]:
    found = find_differences(models, {"sts/STS12": STS12}, **more)  # type: ignore[arg-type]
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
    """The sets of the transfer average, the first ``count`` of them: of equal size, and all alike."""
    for name in TRANSFER[1:count]:
        one.suites["transfer"].sets[name] = SetResult(0, "accuracy", 500, 0, digest=name)
        one.predictions[f"transfer/{name}"] = one.predictions["transfer/MR"]
    return one


def test_the_average_is_tested_over_all_of_its_sets_or_not_at_all() -> None:
    found = differences(with_twins(model("a", 1, 0.9), 7), with_twins(model("b2", 4, 0.6), 7))
    points = {name: one.points for (suite, name, *_), one in found.items() if suite == "transfer"}
    assert list(points) == [*TRANSFER, "Avg."]
    assert points["Avg."] == pytest.approx(np.mean([points[name] for name in TRANSFER]))
    six = differences(with_twins(model("a", 1, 0.9), 6), with_twins(model("b2", 4, 0.6), 6))
    assert [name for suite, name, *_ in six if suite == "transfer"] == list(TRANSFER[:6])


def test_sets_of_equal_size_share_no_resamples() -> None:
    """The interval of the mean of seven independent sets is narrower by the root of seven."""
    found = differences(with_twins(model("a", 1, 0.9), 7), with_twins(model("b2", 4, 0.6), 7))
    widths = {
        name: one.high - one.low for (suite, name, *_), one in found.items() if suite == "transfer"
    }
    assert widths["Avg."] == pytest.approx(widths["MR"] / np.sqrt(7), rel=0.1)


def test_a_set_has_the_same_resamples_whatever_is_beside_it() -> None:
    alone = differences(model("a", 1, 0.9), model("b2", 4, 0.6), n_resamples=500)
    beside = differences(
        with_twins(model("a", 1, 0.9), 2), with_twins(model("b2", 4, 0.6), 2), n_resamples=500
    )
    key = ("transfer", "MR", "a", "b2")
    assert (alone[key].low, alone[key].high) == (beside[key].low, beside[key].high)
    other = differences(model("a", 1, 0.9), model("b2", 4, 0.6), n_resamples=500, seed=1)
    assert other[key].low != alone[key].low


def test_many_comparisons_of_equal_models_call_nothing_significant() -> None:
    """Twenty models without any difference: 190 comparisons, of which 5 % would be 'found'."""
    random = np.random.default_rng(12)
    models = []
    for number in range(20):
        suites = {"transfer": SuiteResult({"MR": SetResult(0, "accuracy", 60, 0, digest="mr")})}
        items = {"transfer/MR": random.random(60) < 0.7}
        models.append(Results(f"m{number}", suites=suites, predictions=items))
    found = find_differences(models, {})
    assert len(found.differences) == 190
    assert sum(one.p <= 0.05 for one in found.differences) > 1
    assert not any(one.significant for one in found.differences)


def test_the_cost_does_not_grow_with_the_number_of_comparisons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of twenty models, each set is resampled a thousand times, all models at once."""
    measured: list[int] = []

    def measure(predictions: np.ndarray) -> object:
        def counted(counts: np.ndarray) -> np.ndarray:
            measured.append(predictions.shape[1])
            return np.zeros(predictions.shape[1])

        return counted

    monkeypatch.setattr(compare, "accuracy_measure", measure)
    models = [model(str(number), 1, 0.9) for number in range(20)]
    found = find_differences(models, {})
    assert len(found.differences) == 190
    assert measured == [20] * 1001


def test_too_few_resamples_are_refused() -> None:
    with pytest.raises(UserError, match="--rounds 99: a standard error needs at least 100"):
        differences(model("a", 1, 0.9), model("b2", 4, 0.6), n_resamples=99)


def test_pairs_that_share_a_sentence_count_as_one() -> None:
    """Each pair ten times over: no more is known than from one of each."""
    one, ten = {}, {}
    for name, noise in (("a", 1.0), ("b2", 1.5)):
        each = model(name, noise, 0.9)
        one[name] = each
        ten[name] = model(name, noise, 0.9)
        ten[name].predictions["sts/STS12"] = np.repeat(each.predictions["sts/STS12"], 10)
    alone = find_differences([*one.values()], {"sts/STS12": STS12}).differences[0]
    repeated = Gold(np.repeat(GOLD, 10), np.repeat(np.arange(400), 10))
    again = find_differences([*ten.values()], {"sts/STS12": repeated}).differences[0]
    assert (again.low, again.high) == pytest.approx((alone.low, alone.high), abs=0.1)
    naive = Gold(repeated.scores, np.arange(4000))
    narrow = find_differences([*ten.values()], {"sts/STS12": naive}).differences[0]
    assert narrow.high - narrow.low < 0.5 * (again.high - again.low)


def test_only_answers_to_the_same_rows_are_compared() -> None:
    models = [model("a", 1, 0.9), model("b", 1, 0.9, digest="others")]
    assert comparable(models) == ["transfer/MR"]
    assert comparable(models[:1]) == []


def test_gold_scores_are_read_again_and_checked() -> None:
    models = [model("a", 1, 0.9), model("b", 1, 0.9)]
    gold = gold_scores(models, lambda name: PAIRS)
    assert gold["sts/STS12"].scores is PAIRS.scores
    assert set(gold["sts/STS12"].clusters) == {0}  # one sentence is in all of them

    def missing(name: str) -> ScoredPairs:
        raise MissingData(name, "", [], "")

    assert gold_scores(models, missing) == {}
    other = ScoredPairs(["a"] * 400, ["c"] * 400, GOLD, "STS12")
    assert gold_scores(models, lambda name: other) == {}


def test_own_gold_scores_are_kept_with_the_answers() -> None:
    models = []
    for name in ("a", "b"):
        own = SuiteResult({"mine": SetResult(0, "Spearman", 3, 0.0, digest="d")})
        models.append(Results(name, suites={"own": own}, predictions={"own/mine": np.arange(3.0)}))
    assert gold_scores(models, lambda name: PAIRS) == {}  # older records lack them
    models[1].predictions["gold/own/mine"] = np.array([1.0, 2.0, 3.0])
    gold = gold_scores(models, lambda name: PAIRS)["own/mine"]
    assert (gold.scores.tolist(), gold.clusters.tolist()) == ([1, 2, 3], [0, 1, 2])
    models[1].predictions["clusters/own/mine"] = np.array([0, 0, 1])
    gold = gold_scores(models, lambda name: PAIRS)["own/mine"]
    assert gold.clusters.tolist() == [0, 0, 1]


def test_what_is_not_tested_is_said_with_the_reason() -> None:
    models = [model("a", 1, 0.9), model("b", 1, 0.9, digest="others")]
    for each in models:
        each.suites["clustering"] = SuiteResult(
            {"AG": SetResult(0, "clustering accuracy", 8, 0, digest="ag")}
        )
    assert find_differences(models, {}).notes == [
        "Not tested: STS12 (the models were evaluated on different examples).",
        "Not tested: AG (there are no per-example predictions).",
    ]
    models[1] = model("b", 1, 0.9)
    one = {"sts/STS12": Gold(GOLD, np.zeros(400, int))}
    assert find_differences(models, one).notes == [
        "Not tested: STS12 (all of its pairs are connected by shared sentences)."
    ]
    assert find_differences(models, {}).notes == [
        "Not tested: STS12 (the gold scores were not found (--data), or are not those of the models)."
    ]


def test_a_set_from_the_hub_is_looked_for_by_its_name() -> None:
    models = [model("a", 1, 0.9), model("b", 1, 0.9)]
    for each in models:
        one = each.suites["sts"].sets["STS12"]
        one.variant = "Hub"
        each.suites["sts"].sets = {"STS12 (Hub)": one}
        each.predictions["sts/STS12 (Hub)"] = each.predictions.pop("sts/STS12")
    asked = []
    gold = gold_scores(models, lambda name: (asked.append(name), PAIRS)[1])
    assert (asked, list(gold)) == (["STS12"], ["sts/STS12 (Hub)"])


def test_table_says_where_a_difference_is_significant() -> None:
    models = [model("clear", 1, 0.6), model("noisy one", 4, 0.6)]
    table = difference_table(find_differences(models, {"sts/STS12": STS12}))
    rows = dict(table.rows)
    average, interval, p, significant, rest = rows["sts: clear over noisy one"]
    assert str(significant).startswith("STS12 +")
    assert rest == ""
    assert p == "< 0.001"
    assert str(interval).startswith("+")
    assert str(average).startswith("+")
    assert rows["transfer: clear over noisy one"][3] == ""
    assert "Holm's method for all 2 comparisons" in table.notes[1]


def test_table_says_that_it_cannot_speak_about_methods() -> None:
    table = difference_table(find_differences([model("a", 1, 0.6), model("b2", 4, 0.6)], {}))
    assert "not between methods" in table.title
    assert "ignore variance across training seeds" in table.notes[0]
