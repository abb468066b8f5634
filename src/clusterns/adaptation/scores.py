"""How good an adapted model is, by its embeddings of held-out text, and which interpolation weight is best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from clusterns.adaptation.settings import AdaptSettings
from clusterns.errors import UserError
from clusterns.evaluation.validators import halved
from clusterns.vectors.nearest import Rows, Vectors, nearest, unit

# Keys of the record: the score for the purpose, and the agreement on both kinds of text.
PURPOSE, KEPT, KEPT_GENERAL = "purpose", "kept", "kept_general"
METRICS = {"topics": "common_neighbors", "search": "search_mrr"}
TITLES = {"topics": "common neighbors", "search": "MRR of search"}
# Texts whose pairwise similarities tell how much of the base is left.
MAX_AGREEMENT_TEXTS = 300
# A held-out sentence searches among at most this many.
MAX_SEARCHED = 3000
MIN_DOCUMENTS = 20
# Nearest neighbors that the halves of a sentence may share; a fifth of all texts if there are few.
NEIGHBORS = 10


class Scorer:
    """Scores embeddings of held-out text, relative to those of the base.

    The score for the purpose is, for search, the mean reciprocal rank of another sentence of the same
    document; for topics, the share of nearest neighbors that both halves of a sentence have in common.

    Args:
        heldout: sentences that nothing was learned from.
        general: general text that nothing was learned from.
        documents: document of each held-out sentence; None for topics.
    """

    def __init__(
        self,
        heldout: Sequence[str],
        general: Sequence[str],
        documents: NDArray[np.int64] | None = None,
    ) -> None:
        general = list(general)[:MAX_AGREEMENT_TEXTS]
        most = MAX_AGREEMENT_TEXTS if documents is None else MAX_SEARCHED
        self.documents = None if documents is None else documents[:most]
        firsts: list[str] = []
        seconds: list[str] = []
        rows: list[int] = []
        if self.documents is None:
            texts = [heldout[row] for row in _spread(len(heldout), most)]
            firsts, seconds, rows = halved(texts, 2)
        else:
            texts = list(heldout[:most])
            several = int((np.unique(self.documents, return_counts=True)[1] > 1).sum())
            if several < MIN_DOCUMENTS:
                raise UserError(
                    f"only {several} held-out documents have two sentences, and search is measured on at "
                    f"least {MIN_DOCUMENTS}: add documents, or raise heldout (at most a tenth of the text)."
                )
        if len(texts) < 2 or (self.documents is None and not rows):
            raise UserError("too little held-out text: add text, or raise heldout.")
        self._ends = np.cumsum([len(texts), len(general), len(firsts)])
        self._rows = np.array(rows, np.int64)
        self.texts = [*texts, *general, *firsts, *seconds]
        """Everything that is embedded to score a model."""

    def score(self, vectors: Vectors, base: Vectors) -> dict[str, float]:
        """Score embeddings of :attr:`texts`, (n, d) of any length, against those of the base."""
        own, general, firsts, seconds = np.split(unit(vectors), self._ends)
        base_own, base_general, *_ = np.split(unit(base), self._ends)
        rows = _spread(len(own), MAX_AGREEMENT_TEXTS)
        if self.documents is None:
            purpose = common_neighbors(own, firsts, seconds, self._rows)
        else:
            purpose = search_mrr(own, self.documents)
        return {
            PURPOSE: purpose,
            KEPT: agreement(own[rows], base_own[rows]),
            KEPT_GENERAL: agreement(general, base_general),
        }


def _spread(count: int, most: int) -> Rows:
    """At most this many rows, evenly spaced: the text is in the order of its files."""
    return np.linspace(0, count - 1, min(most, count)).astype(int)


def common_neighbors(vectors: Vectors, firsts: Vectors, seconds: Vectors, rows: Rows) -> float:
    """The share of the texts nearest to the first half of a text that are also nearest to its second half.

    Both halves are about the same topic and have little else in common. If all vectors are alike, they share
    their neighbors too, so this only says something for a model that agrees with its base.

    Args:
        vectors: (n, d) unit vectors of texts.
        firsts: (m, d) unit vectors of first halves.
        seconds: (m, d) unit vectors of their second halves.
        rows: (m,) text that the halves are from, which is not one of their neighbors.
    """
    k = max(1, min(NEIGHBORS, len(vectors) // 5))
    (_, first), (_, second) = (nearest(each, vectors, k, rows) for each in (firsts, seconds))
    return float((first[:, :, None] == second[:, None, :]).any(2).mean())


def search_mrr(vectors: Vectors, documents: NDArray[np.int64]) -> float:
    """Mean reciprocal rank of the first other sentence of the same document, among all sentences."""
    similarities = vectors @ vectors.T
    np.fill_diagonal(similarities, -np.inf)
    same = documents[:, None] == documents
    best = np.where(same, similarities, -np.inf).max(1)
    # Ties count against it: vectors that are all alike find nothing.
    above = (~same & (similarities >= best[:, None])).sum(1)
    return float((1 / (1 + above))[best > -np.inf].mean())


def agreement(vectors: Vectors, base: Vectors) -> float:
    """Spearman correlation of all pairwise similarities with those of the base."""
    cells = np.triu_indices(len(vectors), 1)
    now, then = (vectors @ vectors.T)[cells], (base @ base.T)[cells]
    if np.array_equal(now, then):
        return 1.0
    return float(spearmanr(now, then).statistic)


def refusal(settings: AdaptSettings, found: Mapping[str, float]) -> str:
    """Why a weight is not allowed; empty if it is."""
    # Written so that NaN is refused.
    if not found[KEPT_GENERAL] >= settings.min_agreement_general:
        least = f"min_agreement_general = {settings.min_agreement_general:g}"
        return f"general text: agreement {found[KEPT_GENERAL]:.3f}, {least}"
    if not found[KEPT] >= settings.min_agreement_domain:
        least = f"min_agreement_domain = {settings.min_agreement_domain:g}"
        return f"your text: agreement {found[KEPT]:.3f}, {least}"
    return ""


def choose(measured: Mapping[float, Mapping[str, float]], refused: Mapping[float, str]) -> float:
    """The allowed weight with the best score; the smallest of equal ones. 0, the base, is always allowed."""
    allowed = [weight for weight in sorted(measured) if weight == 0 or weight not in refused]
    return max(allowed, key=lambda weight: (measured[weight][PURPOSE], -weight))


def table(
    purpose: str,
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
    """What came of an adaptation, in a sentence or two."""
    weight, found = facts["share"], facts["measured"][str(facts["share"])]
    if weight == 0:
        return "The model is the base, unchanged: no interpolation weight was both better and harmless."
    words = (
        f"Adapted for {facts['purpose']} with interpolation weight {weight:g}. Similarities agree with the "
        f"base's to {found[KEPT]:.3f} on your text and to {found[KEPT_GENERAL]:.3f} on general text."
    )
    before = facts["measured"]["0.0"][PURPOSE]
    if facts["purpose"] == "search":
        words += " MRR of a held-out sentence finding its document:"
    else:
        words += " Neighbors that both halves of a held-out sentence share:"
    return f"{words} {before:.3f} before, {found[PURPOSE]:.3f} after."
