"""Score an adapted model on held-out text, and choose the interpolation weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clusterns.adaptation.general_text import GeneralText, agreement
from clusterns.adaptation.settings import AdaptSettings, Purpose
from clusterns.errors import UserError
from clusterns.evaluation.retrieval import reciprocal_ranks
from clusterns.evaluation.validators import halved
from clusterns.vectors.nearest import Rows, Vectors, nearest, unit

Samples = NDArray[np.float64]
# Keys of the record: the score for the purpose, the agreement on both kinds of text, and how much closer related
# sentences of general English come, in standard deviations of their similarities.
PURPOSE, KEPT, KEPT_GENERAL, DRIFT = "purpose", "kept", "kept_general", "drift"
METRICS: dict[Purpose, str] = {"topics": "common_neighbors", "search": "search_mrr"}
EXPLAINED = {
    "topics": "nearest neighbors that both halves of a held-out sentence share",
    "search": "MRR of held-out documents for their titles or first sentences",
}
# Texts whose pairwise similarities measure the agreement with the base.
MAX_AGREEMENT_TEXTS = 300
# Nearest neighbors to compare between the halves of a sentence: one per this many texts, within bounds. Smaller
# texts have fewer sentences per topic.
TEXTS_PER_NEIGHBOR, MIN_NEIGHBORS, MAX_NEIGHBORS = 50, 3, 10
MIN_SAMPLES = 20
# This share of the held-out queries chooses the weight; the others measure the choice.
CHOOSING = 2 / 3
RESAMPLES = 2000
# A step is probably better if this interval of its gain is above 0, and clearly better by the wider one.
STEP, CONFIDENCE = 0.6, 0.9


class Score(NamedTuple):
    """The score of a model on held-out text. Separate queries choose the weight and measure the choice."""

    choosing: Samples
    """The score of each query that chooses the weight."""
    measuring: Samples
    """The score of each query that measures the choice."""
    measured: dict[str, float]
    """The mean of ``choosing`` and the agreement with the base, as recorded."""


@dataclass(frozen=True)
class HeldOut:
    """Text that is not used for fitting.

    For topics, sentences and their two halves, which should have the same neighbors among the sentences. For
    search, documents and their titles or first sentences, which should find them.
    """

    texts: list[str]
    """Sentences, or the rest of each document."""
    queries: list[str]
    """First halves, then second halves of sentences; or the title of each document."""
    rows: Rows | None = None
    """(m,) the sentence of each half; None for search."""

    def __post_init__(self) -> None:
        count = len(self.queries) if self.rows is None else len(self.rows)
        if count < MIN_SAMPLES:
            kind = "documents of two sentences" if self.rows is None else "sentences of two words"
            raise UserError(
                f"{count} held-out {kind} are too few, fewer than {MIN_SAMPLES}: add text, or raise heldout."
            )

    @property
    def everything(self) -> list[str]:
        """All texts and queries."""
        return [*self.texts, *self.queries]

    def score(self, vectors: Vectors, base: Vectors, general: GeneralText) -> Score:
        """Score (n, d) embeddings, of any length, of :attr:`everything` followed by the measured general
        text, against those of the base."""
        ends = np.cumsum([len(self.texts), len(self.queries)])
        texts, queries, lines = np.split(unit(vectors), ends)
        base_texts, _, base_lines = np.split(unit(base), ends)
        if self.rows is None:
            samples = reciprocal_ranks(queries @ texts.T)
        else:
            firsts, seconds = np.split(queries, 2)
            samples = common_neighbors(texts, firsts, seconds, self.rows)
        chooses = np.random.default_rng(0).permutation(len(samples)) < CHOOSING * len(samples)
        few = np.linspace(0, len(texts) - 1, min(MAX_AGREEMENT_TEXTS, len(texts))).astype(int)
        kept_general, drift = general.compare(lines, base_lines)
        measured = {
            PURPOSE: float(samples[chooses].mean()),
            KEPT: agreement(texts[few], base_texts[few]),
            KEPT_GENERAL: kept_general,
            DRIFT: drift,
        }
        return Score(samples[chooses], samples[~chooses], measured)


def halves(texts: Sequence[str]) -> HeldOut:
    """Held-out sentences with their halves."""
    firsts, seconds, rows = halved(texts, 2)
    return HeldOut(list(texts), [*firsts, *seconds], np.array(rows, np.int64))


def common_neighbors(vectors: Vectors, firsts: Vectors, seconds: Vectors, rows: Rows) -> Samples:
    """The share of the nearest neighbors of the first half of a text that are also neighbors of its second half.

    Both halves have the same topic and little else in common. Halves also share neighbors if all vectors are
    alike, so this is only meaningful for a model that agrees with its base.

    Args:
        vectors: (n, d) unit vectors of texts.
        firsts: (m, d) unit vectors of first halves.
        seconds: (m, d) unit vectors of their second halves.
        rows: (m,) text that the halves are from, which does not count as a neighbor.

    Returns:
        (m,) shares.
    """
    k = min(
        max(len(vectors) // TEXTS_PER_NEIGHBOR, MIN_NEIGHBORS), MAX_NEIGHBORS, len(vectors) // 5
    )
    (_, first), (_, second) = (nearest(each, vectors, k, rows) for each in (firsts, seconds))
    return (first[:, :, None] == second[:, None, :]).any(2).mean(1)


def gain_interval(after: Samples, before: Samples, level: float = 0.95) -> tuple[float, float]:
    """The confidence interval of the mean difference, by a paired bootstrap."""
    gaps = after - before
    draws = np.random.default_rng(0).integers(0, len(gaps), (RESAMPLES, len(gaps)))
    tail = 50 * (1 - level)
    low, high = np.percentile(gaps[draws].mean(1), [tail, 100 - tail])
    return float(low), float(high)


def refusal(settings: AdaptSettings, found: Mapping[str, float]) -> str:
    """The reason why a weight is not allowed; empty if it is."""
    # Written so that NaN is refused.
    if not found[KEPT_GENERAL] >= settings.min_agreement_general:
        limit = f"min_agreement_general = {settings.min_agreement_general:g}"
        return f"general text: agreement {found[KEPT_GENERAL]:.3f}, {limit}"
    if not found.get(DRIFT, 0) <= settings.max_drift:
        return f"general text: drift {found[DRIFT]:.3f}, max_drift = {settings.max_drift:g}"
    if not found[KEPT] >= settings.min_agreement_domain:
        limit = f"min_agreement_domain = {settings.min_agreement_domain:g}"
        return f"your text: agreement {found[KEPT]:.3f}, {limit}"
    return ""


def choose(samples: Mapping[float, Samples], refused: Mapping[float, str]) -> float:
    """Choose the weight: climb from the base, weight 0, to each larger allowed weight that is probably better.

    Return the largest of these that is clearly better than the base. Both tests use a bootstrap.
    """
    climbed = [0.0]
    for weight in sorted(set(samples) - set(refused) - {0.0}):
        if gain_interval(samples[weight], samples[climbed[-1]], STEP)[0] > 0:
            climbed.append(weight)
    clear = [w for w in climbed if gain_interval(samples[w], samples[0.0], CONFIDENCE)[0] > 0]
    return max(clear, default=0.0)


def table(
    purpose: Purpose,
    measured: Mapping[float, Mapping[str, float]],
    refused: Mapping[float, str],
    chosen: float,
) -> str:
    """A table of the gain and the cost of each weight."""
    score = METRICS[purpose].replace("_", " ")
    lines = [f"weight   {score:>16}   agreement, your text   agreement, general text"]
    for weight, found in sorted(measured.items()):
        verdict = "  <- chosen" if weight == chosen else ""
        if weight and weight in refused:
            verdict = f"  refused, {refused[weight]}"
        lines.append(
            f"{weight:>6.2f}   {found[PURPOSE]:>16.3f}   {found[KEPT]:>20.3f}   "
            f"{found[KEPT_GENERAL]:>23.3f}{verdict}"
        )
    return "\n".join(lines)


def summarize(facts: Mapping[str, Any]) -> str:
    """Summarize an adaptation in a few sentences."""
    weight, purpose = facts["share"], facts["purpose"]
    if weight == 0:
        return (
            f"The model is the base, unchanged: no interpolation weight was clearly better for {purpose} within "
            "the limits on agreement."
        )
    found, (low, high) = facts["measured"][str(weight)], facts["interval"]
    verdict = "better" if low > 0 else "worse" if high < 0 else "no clear difference"
    return (
        f"Adapted for {purpose} with interpolation weight {weight:g}. Similarities agree with the base's to "
        f"{found[KEPT]:.3f} on your text and to {found[KEPT_GENERAL]:.3f} on general text. On held-out text that "
        f"did not choose the weight, the {EXPLAINED[purpose]} went from {facts['before']:.3f} to "
        f"{facts['after']:.3f}, {verdict} (95 % interval of the gain {low:+.3f} to {high:+.3f})."
    )
