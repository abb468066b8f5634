"""The scores against plain loops, and the choice of the interpolation weight."""

from __future__ import annotations

import numpy as np
import pytest

from clusterns.adaptation.general_text import GeneralText
from clusterns.adaptation.scores import (
    HeldOut,
    Score,
    choose,
    common_neighbors,
    gain_interval,
    halves,
    refusal,
    summarize,
    table,
)
from clusterns.adaptation.settings import load_settings
from clusterns.errors import UserError
from clusterns.evaluation.validators import halved
from tests.helpers.hash_encoder import HashEncoder

TEXTS = [f"sentence number {row} of {row // 2}" for row in range(40)]
GENERAL = GeneralText([], [f"general line {row}" for row in range(30)], {})
MODEL = HashEncoder()


def all_samples(score: Score) -> np.ndarray:
    return np.concatenate([score.choosing, score.measuring])


def test_the_base_agrees_with_itself() -> None:
    held_out = halves(TEXTS)
    base = MODEL.encode([*held_out.everything, *GENERAL.measured])
    found = held_out.score(base, base, GENERAL)
    assert found.measured["kept"] == found.measured["kept_general"] == 1.0
    assert 0 < all_samples(found).mean() < 1
    # The queries that measure the choice are others than those that made it.
    assert (len(found.choosing), len(found.measuring)) == (27, 13)
    assert found.measured["purpose"] == found.choosing.mean()


def test_search_is_how_well_a_title_finds_its_document() -> None:
    held_out = HeldOut([f"b{row}" for row in range(40)], [f"a{row}" for row in range(40)])
    texts = [*held_out.everything, *GENERAL.measured]
    base, same = MODEL.encode(texts), MODEL.encode([text[1:] for text in texts])
    found = held_out.score(same, base, GENERAL)
    assert found.choosing.mean() == found.measuring.mean() == 1
    assert max(found.measured["kept"], found.measured["kept_general"]) < 0.9
    assert held_out.score(base, base, GENERAL).choosing.mean() < 0.5


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
            set(sorted(others, key=lambda row: -(texts[row] @ half))[:3])
            for half in (first, second)
        ]
        shares.append(len(near[0] & near[1]) / 3)  # of few texts
    np.testing.assert_allclose(common_neighbors(texts, firsts, seconds, rows), shares)
    assert common_neighbors(texts, firsts, firsts, rows).min() == 1
    # With few texts, three neighbors would be most of them, for any half.
    assert common_neighbors(texts[:11], firsts[:11], seconds[:11], np.arange(11)).mean() < 0.8


def test_topics_show_in_both_halves_of_a_sentence() -> None:
    firsts, seconds, rows = halved(["one two three", "a", "日本語"], 2)
    assert list(zip(firsts, seconds, rows, strict=True)) == [
        ("one", "two three", 0), ("日", "本語", 2)
    ]  # fmt: skip
    texts = [f"{row % 4} word{row} {row % 4} again{row}" for row in range(80)]
    held_out = halves(texts)
    everything = [*held_out.everything, *GENERAL.measured]
    base = MODEL.encode(everything)
    topics = MODEL.encode([text.split()[0] for text in everything]) + 0.1 * base
    before, after = (all_samples(held_out.score(each, base, GENERAL)) for each in (base, topics))
    assert after.mean() > before.mean() + 0.05


def test_too_little_text_is_refused() -> None:
    with pytest.raises(UserError, match="heldout"):
        HeldOut(TEXTS[:5], TEXTS[:5])
    for texts in (["one"], ["a"] * 50):
        with pytest.raises(UserError, match="heldout"):
            halves(texts)


def scores(purpose: float, kept: float = 1.0, general: float = 1.0) -> dict[str, float]:
    return {"purpose": purpose, "kept": kept, "kept_general": general}


def samples(mean: float, noise: float = 0.05) -> np.ndarray:
    return mean + noise * np.random.default_rng(int(1000 * mean)).standard_normal(60)


def test_a_step_is_taken_only_if_it_gains() -> None:
    steps = {0.0: samples(0.2), 0.5: samples(0.3), 1.0: samples(0.4)}
    assert choose(steps, {}) == 1.0
    assert choose(steps, {1.0: "too far"}) == 0.5
    assert choose(steps, {0.5: "too far", 1.0: "too far"}) == 0.0
    # Within the noise, the smaller change is kept; a larger gain still counts later on.
    noisy = {0.0: samples(0.2), 0.5: samples(0.205, 0.3), 1.0: samples(0.4)}
    assert choose({key: noisy[key] for key in (0.0, 0.5)}, {}) == 0.0
    assert choose(noisy, {}) == 1.0
    assert choose({0.0: samples(0.2), 0.5: samples(0.2), 1.0: samples(0.1)}, {}) == 0.0


def test_probable_steps_count_as_far_as_they_are_clearly_better_than_the_base() -> None:
    base = np.zeros(100)
    step = np.full(100, 0.01)
    step[::2] = -0.0075  # gains 0.00125 on average, with a standard error of 0.0009
    assert choose({0.0: base, 0.5: step}, {}) == 0.0
    assert choose({0.0: base, 0.5: base + 0.1, 1.0: base + 0.1 + step}, {}) == 1.0
    noise = np.where(np.arange(100) < 50, 1.0, -1.0)
    ends = {0.0: base, 0.5: base + 0.1 + 0.5 * noise, 1.0: base + 0.2 + 1.5 * noise}
    assert choose(ends, {}) == 0.5  # on to 1 is probable, and 1 not clear


def test_the_interval_of_a_gain_holds_it_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    held = 0
    for _ in range(200):
        gaps = 0.3 + random.standard_normal(50)
        low, high = gain_interval(gaps, np.zeros(50), 0.9)
        held += low <= 0.3 <= high
    assert 0.83 < held / 200 < 0.96


def test_the_table_names_what_was_chosen_and_refused() -> None:
    measured = {0.0: scores(0.2), 0.5: scores(0.3), 1.0: scores(0.4)}
    lines = table("search", measured, {1.0: "too far"}, 0.5).splitlines()
    assert "chosen" in lines[2]
    assert "refused, too far" in lines[3]


def test_too_little_agreement_is_refused_with_the_figure() -> None:
    limits = {"min_agreement_general": 0.9, "min_agreement_domain": 0.8}
    settings = load_settings("topics", {"base": "b", **limits})
    assert refusal(settings, scores(1, 0.85, 0.95)) == ""
    assert "general text: agreement 0.890" in refusal(settings, scores(1, 0.85, 0.89))
    assert "drift 0.050" in refusal(settings, {**scores(1), "drift": 0.05})
    assert "nan" in refusal(settings, scores(1, 0.9, float("nan")))
    assert "your text: agreement 0.790" in refusal(settings, scores(1, 0.79, 0.95))


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [((0.1, 0.3), "better"), ((-0.1, 0.3), "no clear difference"), ((-0.3, -0.1), "worse")],
)
def test_the_result_in_words(interval: tuple[float, float], verdict: str) -> None:
    facts = {
        "purpose": "search", "share": 0.5, "before": 0.25, "after": 0.5, "interval": interval,
        "measured": {"0.0": scores(0.3), "0.5": scores(0.6, 0.91, 0.98)},
    }  # fmt: skip
    assert "interpolation weight 0.5" in summarize(facts)
    assert f"from 0.250 to 0.500, {verdict}" in summarize(facts)
    assert "base, unchanged" in summarize({**facts, "share": 0.0})
