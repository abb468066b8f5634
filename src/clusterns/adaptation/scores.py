"""How good an adapted model is, by its embeddings of held-out text, and which interpolation weight to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterns.adaptation.general_text import GeneralText, agreement
from clusterns.adaptation.settings import AdaptSettings, Purpose
from clusterns.errors import UserError
from clusterns.evaluation.validators import halved
from clusterns.vectors.nearest import Rows, Vectors, nearest, unit

Samples = NDArray[np.float64]
# Keys of the record: the score for the purpose, the agreement on both kinds of text, and how much closer related
# sentences of general English come, in standard deviations of their similarities.
PURPOSE, KEPT, KEPT_GENERAL, DRIFT = "purpose", "kept", "kept_general", "drift"
METRICS: dict[Purpose, str] = {"topics": "common_neighbors", "search": "search_mrr"}
TITLES: dict[Purpose, str] = {"topics": "common neighbors", "search": "MRR of search"}
EXPLAINED = {
    "topics": "nearest neighbors that both halves of a held-out sentence share",
    "search": "MRR of held-out documents for their titles or first sentences",
}
# Texts whose pairwise similarities tell how much of the base is left.
MAX_AGREEMENT_TEXTS = 300
# Nearest neighbors that the halves of a sentence may share: one for this many texts, within bounds. In less
# text, there are fewer sentences of a topic.
TEXTS_PER_NEIGHBOR, MIN_NEIGHBORS, MAX_NEIGHBORS = 50, 3, 10
MIN_SAMPLES = 20
# This share of the held-out queries chooses the weight; the others measure the choice.
CHOOSING = 2 / 3
RESAMPLES = 2000
# A step is probably better if this interval of its gain lies above 0, and clearly better by the wider one.
STEP, CONFIDENCE = 0.6, 0.9


@dataclass(frozen=True)
class HeldOut:
    """Queries with one right answer each, which nothing is learned from.

    For topics, the queries and answers are the two halves of sentences, which should have the same
    neighbors among the sentences. For search, they are the title or first sentence of a document and the
    rest of it, which should find each other.
    """

    purpose: Purpose
    texts: list[str]
    """Sentences, or the rest of each document."""
    queries: list[str]
    answers: list[str]
    """For topics; for search the texts are the answers."""
    rows: Rows
    """(m,) text of each query."""
    general: GeneralText

    @property
    def everything(self) -> list[str]:
        """All that is embedded to score a model."""
        return [*self.texts, *self.queries, *self.answers, *self.general.measured]

    def score(self, vectors: Vectors, base: Vectors) -> Score:
        """Score embeddings of :attr:`everything`, (n, d) of any length, against those of the base."""
        ends = np.cumsum([len(self.texts), len(self.queries), len(self.answers)])
        texts, queries, answers, general = np.split(unit(vectors), ends)
        base_texts, _, _, base_general = np.split(unit(base), ends)
        if self.purpose == "topics":
            samples = common_neighbors(texts, queries, answers, self.rows)
        else:
            samples = reciprocal_ranks(queries, texts, self.rows)
        few = np.linspace(0, len(texts) - 1, min(MAX_AGREEMENT_TEXTS, len(texts))).astype(int)
        return Score(
            samples,
            agreement(texts[few], base_texts[few]),
            *self.general.compare(general, base_general),
        )


@dataclass(frozen=True)
class Score:
    """What a model scores on held-out text."""

    samples: Samples
    """(m,) score of each query."""
    kept: float
    """Agreement with the base on the text itself."""
    kept_general: float
    """Agreement with the base on general text."""
    drift: float = 0.0
    """Increase in the similarity of related sentences of general English, in the worst kind of text."""

    @property
    def choosing(self) -> Samples:
        """The queries that choose the weight."""
        return self.samples[self._chooses]

    @property
    def measuring(self) -> Samples:
        """The queries that measure the choice; they had no part in it."""
        return self.samples[~self._chooses]

    @property
    def _chooses(self) -> NDArray[np.bool_]:
        order = np.random.default_rng(0).permutation(len(self.samples))
        return order < CHOOSING * len(order)

    def record(self) -> dict[str, float]:
        """The scores as they are recorded for each weight."""
        return {
            PURPOSE: float(self.choosing.mean()),
            KEPT: self.kept,
            KEPT_GENERAL: self.kept_general,
            DRIFT: self.drift,
        }


def halves(texts: Sequence[str], general: GeneralText) -> HeldOut:
    """Score by the halves of held-out sentences."""
    firsts, seconds, rows = halved(texts, 2)
    if len(rows) < MIN_SAMPLES:
        raise UserError(
            f"{len(rows)} held-out sentences of two words are fewer than {MIN_SAMPLES}: add text, or raise heldout."
        )
    return HeldOut("topics", list(texts), firsts, seconds, np.array(rows), general)


def titled(titles: Sequence[str], bodies: Sequence[str], general: GeneralText) -> HeldOut:
    """Score by the titles, or first sentences, of held-out documents and the rest of each."""
    if len(titles) < MIN_SAMPLES:
        raise UserError(
            f"{len(titles)} held-out documents of two sentences are fewer than {MIN_SAMPLES}: add documents, or "
            "raise heldout."
        )
    return HeldOut("search", list(bodies), list(titles), [], np.arange(len(titles)), general)


def common_neighbors(vectors: Vectors, firsts: Vectors, seconds: Vectors, rows: Rows) -> Samples:
    """The share of the texts nearest to the first half of a text that are also nearest to its second half.

    Both halves are about the same topic and have little else in common. If all vectors are alike, they share
    their neighbors too, so this only says something for a model that agrees with its base.

    Args:
        vectors: (n, d) unit vectors of texts.
        firsts: (m, d) unit vectors of first halves.
        seconds: (m, d) unit vectors of their second halves.
        rows: (m,) text that the halves are from, which is not one of their neighbors.

    Returns:
        (m,) shares.
    """
    k = min(
        max(len(vectors) // TEXTS_PER_NEIGHBOR, MIN_NEIGHBORS), MAX_NEIGHBORS, len(vectors) // 5
    )
    (_, first), (_, second) = (nearest(each, vectors, k, rows) for each in (firsts, seconds))
    return (first[:, :, None] == second[:, None, :]).any(2).mean(1)


def reciprocal_ranks(queries: Vectors, answers: Vectors, rows: Rows) -> Samples:
    """(m,) reciprocal rank of the answer of each of (m, d) queries among all (n, d) answers."""
    similarities = queries @ answers.T
    own = similarities[np.arange(len(rows)), rows]
    # Ties count against it: vectors that are all alike find nothing. The answer ties with itself.
    return 1 / (similarities >= own[:, None]).sum(1)


def gain_interval(after: Samples, before: Samples, level: float = 0.95) -> tuple[float, float]:
    """The interval of the mean difference, by a paired bootstrap."""
    gaps = after - before
    draws = np.random.default_rng(0).integers(0, len(gaps), (RESAMPLES, len(gaps)))
    tail = 50 * (1 - level)
    low, high = np.percentile(gaps[draws].mean(1), [tail, 100 - tail])
    return float(low), float(high)


def refusal(settings: AdaptSettings, found: Mapping[str, float]) -> str:
    """Why a weight is not allowed; empty if it is."""
    # Written so that NaN is refused.
    if not found[KEPT_GENERAL] >= settings.min_agreement_general:
        least = f"min_agreement_general = {settings.min_agreement_general:g}"
        return f"general text: agreement {found[KEPT_GENERAL]:.3f}, {least}"
    if not found.get(DRIFT, 0) <= settings.max_drift:
        return f"general text: drift {found[DRIFT]:.3f}, max_drift = {settings.max_drift:g}"
    if not found[KEPT] >= settings.min_agreement_domain:
        least = f"min_agreement_domain = {settings.min_agreement_domain:g}"
        return f"your text: agreement {found[KEPT]:.3f}, {least}"
    return ""


def choose(samples: Mapping[float, Samples], refused: Mapping[float, str]) -> float:
    """Climb from the base, weight 0, to each larger allowed weight that is probably better, by a bootstrap.

    Of these, the largest that is clearly better than the base is taken.
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
    """What each weight gains and costs, one line each."""
    lines = [f"weight   {TITLES[purpose]:>16}   agreement, your text   agreement, general text"]
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
    """What came of an adaptation, in a few sentences."""
    weight, purpose = facts["share"], facts["purpose"]
    if weight == 0:
        return (
            f"The model is the base, unchanged: no interpolation weight was clearly better for {purpose} within "
            "the limits on agreement."
        )
    found = facts["measured"][str(weight)]
    words = (
        f"Adapted for {purpose} with interpolation weight {weight:g}. Similarities agree with the base's to "
        f"{found[KEPT]:.3f} on your text and to {found[KEPT_GENERAL]:.3f} on general text."
    )
    if "interval" not in facts:  # a run from before there was a second part
        return words
    low, high = facts["interval"]
    verdict = "better" if low > 0 else "worse" if high < 0 else "no clear difference"
    return (
        f"{words} On held-out text that chose nothing, the {EXPLAINED[purpose]} went from {facts['before']:.3f} to "
        f"{facts['after']:.3f}, {verdict} (95 % interval of the gain {low:+.3f} to {high:+.3f})."
    )
