"""The scores against plain loops, and the choice of the interpolation weight."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from clusterns.adaptation.scores import (
    Scorer,
    choose,
    common_neighbors,
    refusal,
    search_mrr,
    summarize,
    table,
)
from clusterns.adaptation.settings import load_settings
from clusterns.errors import UserError
from clusterns.evaluation.validators import halved
from clusterns.vectors.nearest import Vectors, unit
from tests.helpers.hash_encoder import HashEncoder

TEXTS = [f"sentence number {row} of {row // 2}" for row in range(40)]
GENERAL = [f"general line {row}" for row in range(30)]
PAIRS = np.arange(40) // 2
MODEL = HashEncoder()


def noise(texts: list[str]) -> Vectors:
    return MODEL.encode([f"{text}!" for text in texts])


def test_the_base_agrees_with_itself() -> None:
    scorer = Scorer(TEXTS, GENERAL)
    vectors = MODEL.encode(scorer.texts)
    found = scorer.score(vectors, vectors)
    assert found["kept"] == found["kept_general"] == 1.0
    assert 0 < found["purpose"] < 1


def test_agreement_is_the_rank_correlation_of_similarities() -> None:
    scorer = Scorer(TEXTS, GENERAL)
    base = MODEL.encode(scorer.texts)
    moved = base + 0.5 * noise(scorer.texts)
    found = scorer.score(moved, base)
    pairs = [(i, j) for i in range(30) for j in range(i)]
    similarities = []
    for vectors in (base, moved):
        rows = dict(zip(scorer.texts, unit(vectors), strict=True))
        similarities.append([rows[GENERAL[i]] @ rows[GENERAL[j]] for i, j in pairs])
    assert found["kept_general"] == pytest.approx(spearmanr(*similarities).statistic, abs=1e-4)
    assert 0.3 < found["kept"] < 0.99


def test_search_is_how_well_a_sentence_finds_its_document() -> None:
    scorer = Scorer(TEXTS, GENERAL, PAIRS)
    base = MODEL.encode(scorer.texts)
    ends = MODEL.encode([text.split()[-1] for text in scorer.texts])
    assert scorer.score(ends, base)["purpose"] == pytest.approx(1, abs=0.06)
    assert scorer.score(base, base)["purpose"] < 0.7


def test_the_search_score_equals_plain_loops() -> None:
    random = np.random.default_rng(0)
    vectors, documents = random.standard_normal((30, 4)), random.integers(0, 12, 30)
    ranks = []
    for row in range(30):
        others = sorted(set(range(30)) - {row}, key=lambda other: -(vectors[row] @ vectors[other]))
        own = [rank for rank, other in enumerate(others, 1) if documents[other] == documents[row]]
        ranks += own[:1]
    assert 20 < len(ranks) < 30
    found = search_mrr(vectors.astype(np.float32), documents)
    assert found == pytest.approx(np.mean([1 / rank for rank in ranks]), abs=1e-6)
    # Vectors that are all alike find nothing: all other documents come first.
    assert search_mrr(np.ones((6, 3), np.float32), np.arange(6) // 2) == pytest.approx(1 / 5)


def test_common_neighbors_equal_plain_loops() -> None:
    random = np.random.default_rng(0)
    texts, firsts, seconds = (
        random.standard_normal((count, 3)).astype(np.float32) for count in (30, 25, 25)
    )
    rows = np.arange(25) + 3
    shares = []
    for first, second, own in zip(firsts, seconds, rows, strict=True):
        others = [row for row in range(30) if row != own]
        near = [
            set(sorted(others, key=lambda row: -(texts[row] @ half))[:6])
            for half in (first, second)
        ]
        shares.append(len(near[0] & near[1]) / 6)  # a fifth of 30
    assert common_neighbors(texts, firsts, seconds, rows) == pytest.approx(np.mean(shares))
    assert common_neighbors(texts, firsts, firsts, rows) == 1
    # With few texts, ten neighbors would be all of them, for any half.
    assert common_neighbors(texts[:11], firsts[:11], seconds[:11], np.arange(11)) < 0.8


def test_topics_show_in_both_halves_of_a_sentence() -> None:
    firsts, seconds, rows = halved(["one two three", "a", "日本語"], 2)
    assert list(zip(firsts, seconds, rows, strict=True)) == [
        ("one", "two three", 0), ("日", "本語", 2)
    ]  # fmt: skip
    texts = [f"{row % 4} word{row} {row % 4} again{row}" for row in range(80)]
    scorer = Scorer(texts, GENERAL)
    base = MODEL.encode(scorer.texts)
    topics = MODEL.encode([text.split()[0] for text in scorer.texts]) + 0.1 * base
    assert scorer.score(topics, base)["purpose"] > scorer.score(base, base)["purpose"] + 0.1


def test_too_little_text_is_refused() -> None:
    with pytest.raises(UserError, match="two sentences"):
        Scorer(TEXTS, GENERAL, np.arange(40))
    for texts in (["one"], ["a", "b", "c"]):
        with pytest.raises(UserError, match="heldout"):
            Scorer(texts, GENERAL)


def scores(purpose: float, kept: float = 1.0, general: float = 1.0) -> dict[str, float]:
    return {"purpose": purpose, "kept": kept, "kept_general": general}


def test_the_best_allowed_weight_is_chosen() -> None:
    measured = {0.0: scores(0.2), 0.5: scores(0.3), 1.0: scores(0.4)}
    assert choose(measured, {}) == 1.0
    assert choose(measured, {1.0: "too far"}) == 0.5
    assert choose(measured, {0.5: "too far", 1.0: "too far"}) == 0.0
    assert choose({0.0: scores(0.2), 0.5: scores(0.2), 1.0: scores(0.1)}, {}) == 0.0
    lines = table("search", measured, {1.0: "too far"}, 0.5).splitlines()
    assert "chosen" in lines[2]
    assert "refused, too far" in lines[3]


def test_too_little_agreement_is_refused_with_the_figure() -> None:
    # The names of older records work too.
    settings = load_settings("topics", {"base": "b", "keep": 0.9, "min_agreement_domain": 0.8})
    assert refusal(settings, scores(1, 0.85, 0.95)) == ""
    assert "general text: agreement 0.890" in refusal(settings, scores(1, 0.85, 0.89))
    assert "nan" in refusal(settings, scores(1, 0.9, float("nan")))
    assert "your text: agreement 0.790" in refusal(settings, scores(1, 0.79, 0.95))


def test_the_result_in_words() -> None:
    facts = {
        "purpose": "search",
        "share": 0.5,
        "measured": {"0.0": scores(0.25), "0.5": scores(0.5, 0.91, 0.98)},
    }
    assert "interpolation weight 0.5" in summarize(facts)
    assert "0.250 before, 0.500 after" in summarize(facts)
    assert "base, unchanged" in summarize({**facts, "share": 0.0})
