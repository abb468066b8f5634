"""Typical words of groups of sentences, in any language: class-based tf-idf.

A word is typical of a group where it is frequent in it and rare elsewhere. Words that the corpus
uses everywhere alike (its stop words) are found from the corpus itself, so no list is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import regex
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

# Letters with their marks (vowel signs are no letters to `\w`), then digits and inner apostrophes.
WORD = regex.compile(r"[\p{L}\p{M}][\p{L}\p{M}\p{N}_]*(?:['’][\p{L}\p{M}]+)?(?:[+#]+(?!\w))?")
# Scripts that write no spaces: pairs of characters stand for words there.
UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+")
LONGEST_TEXT, LONGEST_WORD = 2000, 40
MOST_WORDS = 50_000
# A word is a stop word above so much of the largest spread over the groups that it can have; one
# that more than so many sentences have, earlier.
EVERYWHERE, COMMON, COMMON_EVERYWHERE = 0.9, 0.03, 0.7
# Of two groups a common word has to be twice as frequent in one to be more than a stop word.
TWICE = 0.918


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case; of scripts without spaces, pairs of characters."""
    found: list[str] = []
    for word in WORD.findall(text[:LONGEST_TEXT].lower()):
        if UNSPACED.search(word):
            for part in UNSPACED.findall(word):
                found += [part[i : i + 2] for i in range(max(1, len(part) - 1))]
        elif 1 < len(word) <= LONGEST_WORD:
            found.append(word)
    return found


class Words:
    """The words of a corpus, counted by sentence.

    Args:
        texts: the sentences.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        vectorizer = CountVectorizer(
            analyzer=words_of, binary=True, max_features=MOST_WORDS, dtype=np.float32
        )
        try:
            self.counts: csr_matrix = vectorizer.fit_transform(texts)
            self.words = vectorizer.get_feature_names_out()
        except ValueError:  # not a single word
            self.counts = csr_matrix((0, 0), dtype=np.float32)
            self.words = np.zeros(0, dtype=object)

    def typical(self, groups: NDArray[np.int64], count: int, top: int = 10) -> list[list[str]]:
        """The most typical words of each of ``count`` groups.

        Args:
            groups: (n,) the group of each sentence; -1 is none.
            count: how many groups there are.
            top: how many words of each.
        """
        if not len(self.words):
            return [[] for _ in range(count)]
        member = np.flatnonzero(groups >= 0)
        which = csr_matrix(
            (np.ones(len(member), dtype=np.float32), (groups[member], member)),
            shape=(count, self.counts.shape[0]),
        )
        table = np.asarray((which @ self.counts).todense())
        scores = class_tf_idf(table, np.bincount(groups[member], minlength=count))
        return [self._best(row, top) for row in scores]

    def typical_of(self, rows: Sequence[int], top: int = 10) -> list[str]:
        """The most typical words of some sentences, against all others."""
        groups = np.zeros(self.counts.shape[0], dtype=np.int64)
        groups[np.asarray(rows, dtype=np.int64)] = 1
        return self.typical(groups, 2, top)[1]

    def _best(self, scores: NDArray[np.float64], top: int) -> list[str]:
        order = np.lexsort((np.arange(len(scores)), -scores))
        best: list[str] = []
        for at in order[: 4 * top]:
            # "file" and "files" say the same.
            word = str(self.words[at])
            if scores[at] > 0 and not any(_same(word, other) for other in best):
                best.append(word)
        return best[:top]


def _same(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    return len(short) > 3 and long.startswith(short) and len(long) - len(short) <= 2


def class_tf_idf(table: NDArray[np.float32], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Scores of words in groups: (groups, words).

    The share of a group's sentences that have the word, times the logarithm of how much larger
    it is than the word's mean share over the groups. Stop words and words of a single sentence
    get zero.

    Args:
        table: (groups, words) how many sentences of a group have a word.
        sizes: (groups,) sentences.
    """
    shares = table / np.maximum(sizes, 1)[:, None]
    mean = shares.mean(axis=0)
    lift = np.log(np.maximum(shares, 1e-12) / np.maximum(mean, 1e-12))
    scores = np.where((shares > 0) & (table > 1), shares * np.maximum(lift, 0), 0.0)
    common = table.sum(axis=0) > COMMON * sizes.sum()
    two = len(shares) < 3
    stop = _spread(shares) > np.where(
        common, TWICE if two else COMMON_EVERYWHERE, 1.0 if two else EVERYWHERE
    )
    return np.where(stop, 0.0, scores)


def _spread(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """How evenly the groups use each word: the entropy over groups, 1 at the most."""
    if len(shares) < 2:
        return np.zeros(shares.shape[1])
    share = shares / np.maximum(shares.sum(axis=0), 1e-12)
    entropy = -(share * np.log(np.maximum(share, 1e-12))).sum(axis=0)
    return entropy / np.log(len(shares))
