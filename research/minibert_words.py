"""What words mean by the company they keep, for make_minibert.py: co-occurrences, factorised.

Positive pointwise mutual information of the words of a text, its largest singular directions, and a smaller
weight for frequent words. The weighted mean of a sentence's word vectors says what it is about, better than the
mean state of a small masked language model does.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.extmath import randomized_svd

from minibert_text import FIRST_WORD

WINDOW = 10
# Of a context's frequency (Levy et al., 2015): rare ones would have the largest scores otherwise.
CONTEXT_POWER = 0.75
# A word of frequency p weighs RARE / (RARE + p) (Arora et al., 2017).
RARE = 3e-3


def word_vectors(tokens: np.ndarray, words: int, width: int) -> np.ndarray:
    """(words, width) vectors of the words of a row of tokens, as long as their weights, at most 1; special
    tokens, and words that it does not have, have none."""
    scores = mutual_information(cooccurrences(tokens, words))
    directions, _, _ = randomized_svd(scores, width, n_iter=4, random_state=0)
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    directions = np.divide(directions, lengths, out=np.zeros_like(directions), where=lengths > 1e-6)
    weights = RARE / (RARE + np.bincount(tokens, minlength=words) / len(tokens))
    weights[:FIRST_WORD] = 0
    return (directions * weights[:, None]).astype(np.float32)


def cooccurrences(tokens: np.ndarray, words: int) -> csr_matrix:
    """(words, words): how often two words stand at most WINDOW places apart."""
    counts = csr_matrix((words, words))
    for apart in range(1, WINDOW + 1):
        pairs, found = np.unique(
            tokens[:-apart].astype(np.int64) * words + tokens[apart:], return_counts=True
        )
        counts += csr_matrix((found, (pairs // words, pairs % words)), (words, words))
    return (counts + counts.T).tocsr()


def mutual_information(counts: csr_matrix) -> csr_matrix:
    """log P(word, context) / (P(word) P(context)), where that is above 0; contexts to CONTEXT_POWER."""
    cells = counts.tocoo()
    each = np.asarray(counts.sum(1)).ravel()
    context = each**CONTEXT_POWER
    context /= context.sum()
    scores = np.log(cells.data / (each[cells.row] * context[cells.col]))
    return csr_matrix((np.maximum(scores, 0), (cells.row, cells.col)), counts.shape)
