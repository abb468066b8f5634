"""Keywords of groups of sentences, by class-based tf-idf, in any language.

A word is a keyword of a group if it is frequent in the group and rare elsewhere. English stop words are
listed; in other languages, words that all groups use evenly count as stop words.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clusterns.vectors.language import words_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MAX_TEXT = 2000  # characters
MAX_WORDS = 50_000
STOP_WORDS = frozenset(
    files("clusterns.explorer").joinpath("stop_words.txt").read_text("utf-8").split()
)
_FRAGMENTS = {part for word in STOP_WORDS for part in word.split("'")}  # "don" of "don't"
# A word is a stop word if its entropy over the groups exceeds this share of the maximum: EVERYWHERE, or
# COMMON_EVERYWHERE for words in more than a COMMON share of the sentences.
EVERYWHERE, COMMON, COMMON_EVERYWHERE = 0.9, 0.03, 0.7
# The entropy in bits of a word that is twice as frequent in one of two groups.
TWICE = 0.918


def content_words(text: str) -> list[str]:
    """The words of a text that can be keywords: no English stop words, numbers or single letters."""
    found = words_of(text[:MAX_TEXT], is_query=True)
    return [w for w in found if len(w) > 1 and not w.isnumeric() and w not in _FRAGMENTS]


class Keywords:
    """Word counts of sentences, used to find the keywords of any groups.

    Args:
        texts: the sentences.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        from scipy.sparse import csr_matrix
        from sklearn.feature_extraction.text import CountVectorizer

        vectorizer = CountVectorizer(
            analyzer=content_words, binary=True, max_features=MAX_WORDS, dtype=np.float32
        )
        try:
            self.counts: csr_matrix = vectorizer.fit_transform(texts)
            self.words = vectorizer.get_feature_names_out()
        except ValueError:  # no words at all
            self.counts, self.words = csr_matrix((len(texts), 0), dtype=np.float32), []

    def of_groups(
        self,
        labels: NDArray[np.integer],
        count: int,
        top: int = 10,
        unions: NDArray[np.bool_] | None = None,
    ) -> list[list[str]]:
        """The keywords of ``count`` groups, or of unions of them.

        Args:
            labels: (n,) the group of each sentence; -1 for none.
            count: number of groups.
            top: keywords per group.
            unions: (m, count) the groups that each union holds.
        """
        from scipy.sparse import csr_matrix

        members = np.flatnonzero(labels >= 0)
        membership = csr_matrix(
            (np.ones(len(members), dtype=np.float32), (labels[members], members)),
            shape=(count, len(labels)),
        )
        table = np.asarray((membership @ self.counts).todense())
        scores = class_tf_idf(table, np.bincount(labels[members], minlength=count), unions)
        return [self._best(row, top) for row in scores]

    def of_rows(self, rows: Sequence[int], top: int = 10) -> list[str]:
        """Keywords that distinguish these sentences from the rest."""
        labels = np.zeros(self.counts.shape[0], dtype=np.int64)
        labels[np.asarray(rows, dtype=np.int64)] = 1
        return self.of_groups(labels, 2, top)[1]

    def _best(self, scores: NDArray[np.float64], top: int) -> list[str]:
        best: list[str] = []
        for column in np.argsort(-scores, kind="stable")[: 4 * top]:
            word = str(self.words[column])
            if scores[column] > 0 and not any(_same_stem(word, other) for other in best):
                best.append(word)
        return best[:top]


def _same_stem(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    return len(short) > 3 and long.startswith(short) and len(long) - len(short) <= 2


def class_tf_idf(
    table: NDArray[np.float32],
    sizes: NDArray[np.int64],
    unions: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Score words in groups, or in unions of groups: (groups, words).

    share * log(share / mean share over groups), where share is the fraction of a group's sentences that
    contain the word. Stop words and words of a single sentence get zero.

    Args:
        table: (groups, words) number of a group's sentences that contain a word.
        sizes: (groups,) number of sentences.
        unions: (unions, groups) the groups that each union holds.
    """
    shares = table / np.maximum(sizes, 1)[:, None]
    mean = shares.mean(axis=0)
    common = table.sum(axis=0) > COMMON * sizes.sum()
    limits = (TWICE, 1.0) if len(shares) < 3 else (COMMON_EVERYWHERE, EVERYWHERE)
    stop = _evenness(shares) > np.where(common, *limits)
    if unions is not None:
        table = unions.astype(np.float32) @ table
        shares = table / np.maximum(unions @ sizes, 1)[:, None]
    lift = np.log(np.maximum(shares, 1e-12) / np.maximum(mean, 1e-12))
    return np.where((table > 1) & ~stop, shares * np.maximum(lift, 0), 0.0)


def _evenness(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """How evenly groups use each word: its normalized entropy over the groups, at most 1."""
    if len(shares) < 2:
        return np.zeros(shares.shape[1])
    share = shares / np.maximum(shares.sum(axis=0), 1e-12)
    entropy: NDArray[np.float64] = -(share * np.log(np.maximum(share, 1e-12))).sum(axis=0)
    return entropy / np.log(len(shares))
