"""Differences between models: over examples, over queries, and what cannot be compared."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from clusterns.errors import UserError
from clusterns.evaluation import compare
from clusterns.evaluation.catalog import AVERAGED, MissingData
from clusterns.evaluation.compare import (
    Difference,
    Gold,
    difference_table,
    find_differences,
    gold_scores,
)
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.results import Results, SetResult, SuiteResult
from clusterns.evaluation.tables import results_tables

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


def test_clear_differences_exclude_zero_and_slight_ones_do_not() -> None:
    found = differences(
        model("clear", 1, 0.9), model("noisy one", 4, 0.6), model("noisy two2", 4, 0.6)
    )
    for suite, name in (("sts", "STS12"), ("transfer", "MR")):
        one = found[suite, name, "clear", "noisy one"]
        assert one.excludes_zero
        assert 10 < one.low < one.points < one.high
        assert not found[suite, name, "noisy one", "noisy two2"].excludes_zero


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
    """The interval of the mean of n independent sets is narrower by the root of n."""
    found = differences(with_twins(model("a", 1, 0.9), 7), with_twins(model("b2", 4, 0.6), 7))
    widths = {
        name: one.high - one.low for (suite, name, *_), one in found.items() if suite == "transfer"
    }
    assert widths["Avg."] == pytest.approx(widths["MR"] / np.sqrt(len(TRANSFER)), rel=0.1)


def test_a_set_has_the_same_resamples_whatever_is_beside_it() -> None:
    def width(models: list[Results], **more: int) -> float:
        one = differences(*models, n_resamples=500, **more)["transfer", "MR", "a", "b2"]
        return one.high - one.low

    two = [model("a", 1, 0.9), model("b2", 4, 0.6)]
    alone, other = width(two), width(two, seed=1)
    beside = width([with_twins(each, 2) for each in two])
    quantiles = t(499).ppf([1 - 0.05 / 6, 1 - 0.05 / 4])  # of three and of two intervals
    assert beside / alone == pytest.approx(quantiles[0] / quantiles[1])
    assert other != alone


def test_intervals_of_many_comparisons_hold_together() -> None:
    """Twenty models without any difference: 190 comparisons, of which 5 % would be 'found' alone."""
    random = np.random.default_rng(12)
    models = []
    for number in range(20):
        suites = {"transfer": SuiteResult({"MR": SetResult(0, "accuracy", 60, 0, digest="mr")})}
        predictions = {"transfer/MR": random.random(60) < 0.7}
        models.append(Results(f"m{number}", suites=suites, predictions=predictions))
    found = find_differences(models, {}).differences
    assert len(found) == 190
    assert not any(one.excludes_zero for one in found)
    pairs = [find_differences([models[0], each], {}).differences[0] for each in models[1:]]
    assert pairs[0].high - pairs[0].low < 0.7 * (found[0].high - found[0].low)


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

    monkeypatch.setattr(compare, "mean_measure", measure)
    models = [model(str(number), 1, 0.9) for number in range(20)]
    found = find_differences(models, {})
    assert len(found.differences) == 190
    assert measured == [20] * 1001


def test_too_few_resamples_are_refused() -> None:
    with pytest.raises(
        UserError, match="99 resamples are too few: a standard error needs at least 100"
    ):
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
        "Not compared: STS12 (the models were evaluated on different examples).",
        "Not compared: AG (there are no per-example predictions).",
    ]
    models[1] = model("b", 1, 0.9)
    one = {"sts/STS12": Gold(GOLD, np.zeros(400, int))}
    assert find_differences(models, one).notes == [
        "Not compared: STS12 (all of its pairs are connected by shared sentences)."
    ]
    assert find_differences(models, {}).notes == [
        "Not compared: STS12 (the gold scores were not found (--data), or are not those of the models)."
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


def test_table_shows_intervals_and_that_it_cannot_speak_about_methods() -> None:
    models = [model("clear", 1, 0.6), model("noisy one", 4, 0.6)]
    table = difference_table(find_differences(models, {"sts/STS12": STS12}))
    rows = dict(table.rows)
    average, interval, excludes, includes = map(str, rows["sts: clear over noisy one"])
    assert excludes == f"STS12 {float(average):+.1f} ({excludes.partition('(')[2]}"
    assert " to +" in interval
    assert includes == ""
    assert rows["transfer: clear over noisy one"][2] == ""
    assert str(rows["transfer: clear over noisy one"][3]).startswith("MR ")
    assert "not between methods" in table.title
    assert "do not show that one method is better" in table.notes[0]
    assert "pairs that share a sentence are drawn together" in table.notes[1]
    assert "any of the 2 misses" in table.notes[1]


def searched(name: str, **scores: float) -> Results:
    """A model on two collections, with a mean nDCG for each way of searching."""
    sets, predictions = {}, {}
    for variant, score in scores.items():
        for collection in ("cran", "cisi"):
            label = f"{collection} ({variant})"
            random = np.random.default_rng(len(predictions))
            predictions[f"retrieval/{label}"] = (score + random.normal(0, 0.1, 200)).clip(0, 1)
            sets[label] = SetResult(
                100 * score, "nDCG@10", 200, 0, digest=collection, name=collection, variant=variant,
                details={"mrr@10": 50.0, "recall@100": 60.0},
            )  # fmt: skip
    return Results(name, suites={"retrieval": SuiteResult(sets)}, predictions=predictions)


def test_ways_of_searching_are_compared_over_queries_also_of_one_model() -> None:
    one = searched("a", vectors=0.4, words=0.41, both=0.5)
    found = find_differences([one], {}).differences
    rows = {(each.name, each.first, each.second): each for each in found}
    both = rows["cran", "a (vectors)", "a (both)"]
    assert (both.suite, both.excludes_zero, round(both.points)) == ("retrieval", True, -10)
    assert not rows["cisi", "a (vectors)", "words (BM25)"].excludes_zero
    mean = rows["Avg.", "a (vectors)", "a (both)"]
    assert mean.high - mean.low < both.high - both.low
    two = find_differences([one, searched("b", vectors=0.3, words=0.41, both=0.5)], {})
    named = {name for each in two.differences for name in (each.first, each.second)}
    assert named == {"a (vectors)", "words (BM25)", "a (both)", "b (vectors)", "b (both)"}
    assert two.notes == []


def test_tables_of_retrieval_have_a_row_for_each_way_of_searching() -> None:
    ndcg, mrr, recall = results_tables([searched("a", vectors=0.4, words=0.41, both=0.5)])
    assert dict(ndcg.rows)["a (both)"] == [50, 50, 50]
    assert ndcg.columns == ["cran", "cisi", "Avg."]
    assert [table.title for table in (mrr, recall)] == [
        "Retrieval (MRR@10 x100)", "Retrieval (recall@100 x100)"
    ]  # fmt: skip
    assert dict(recall.rows)["words (BM25)"] == [60, 60, 60]
