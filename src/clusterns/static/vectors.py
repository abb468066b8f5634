"""Vectors from counts: PPMI, its singular vectors, token weights, and partial whitening."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array
from sklearn.utils.extmath import randomized_svd

from clusterns.static.cooccurrence import Counts
from clusterns.static.vocabulary import Pieces

Matrix = NDArray[np.float32]

# Up to this vocabulary size, dense products are faster than sparse ones and fit into a gigabyte.
DENSE_VOCABULARY = 16_384
POWER_ITERATIONS = 4
OVERSAMPLES = 76
# Directions with a smaller share of the largest variance are rounding errors.
MIN_VARIANCE = 1e-6


@dataclass(frozen=True)
class Table:
    """A vector and a weight per word piece; a text is the weighted mean of its pieces.

    Args:
        vectors: (v, d) one row per piece.
        weights: (v,) not negative; 0 for ignored pieces.
    """

    vectors: Matrix
    weights: Matrix

    def embed(self, pieces: Pieces) -> Matrix:
        """(m, d) vectors of lines; zeros for a line with only unknown pieces."""
        values = self.weights[pieces.ids]
        bags = csr_array(
            (values, pieces.ids, np.concatenate([[0], np.cumsum(pieces.lengths)])),
            shape=(len(pieces.lengths), len(self.vectors)),
        )
        total = np.asarray(bags.sum(axis=1))
        return (bags @ self.vectors) / np.maximum(total, np.finfo(np.float32).tiny)[:, None]

    def folded(self) -> Matrix:
        """(v, d) the vectors times their weights: their plain mean has the direction of :meth:`embed`."""
        return self.vectors * self.weights[:, None]


def ppmi(pairs: csr_array, smoothing: float) -> csr_array:
    """Positive pointwise mutual information: max(0, log(C_ij / (r_i c_j))), (v, v).

    r is the distribution of the pieces over the pairs, c the same raised to the power ``smoothing``
    (Levy, Goldberg and Dagan, TACL 2015), both normalized.

    Args:
        pairs: (v, v) counts for a <= b, see :class:`~clusterns.static.cooccurrence.Counts`.
        smoothing: exponent of the context distribution; 1 for none.
    """
    matrix = (pairs + pairs.T).tocsr().astype(np.float32)
    total = matrix.sum(axis=1).astype(np.float64)
    context = total**smoothing
    with np.errstate(divide="ignore"):
        log_row = np.log(total / total.sum())
        log_context = np.log(context / context.sum())
    log_total = np.log(total.sum())
    np.log(matrix.data, out=matrix.data)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    matrix.data -= (log_row[rows] + log_context[matrix.indices] + log_total).astype(np.float32)
    np.maximum(matrix.data, 0, out=matrix.data)
    matrix.eliminate_zeros()
    return matrix


def first_vectors(counts: Counts, dimensions: int, smoothing: float, seed: int) -> Matrix:
    """(v, d) left singular vectors of the PPMI matrix, with rows of length 1 (or zero)."""
    matrix = ppmi(counts.pairs, smoothing)
    size = matrix.shape[0]
    left, _, _ = randomized_svd(
        matrix.toarray() if size <= DENSE_VOCABULARY else matrix,
        n_components=min(dimensions, size - 1),
        n_oversamples=OVERSAMPLES,
        n_iter=POWER_ITERATIONS,
        random_state=seed,
    )
    lengths = np.linalg.norm(left, axis=1, keepdims=True)
    return np.asarray(left / np.maximum(lengths, 1e-12), np.float32)


def sif_weights(pieces: NDArray[np.int64], a: float, special: list[int]) -> Matrix:
    """(v,) smooth inverse frequency, a / (a + p) (Arora, Liang and Ma, ICLR 2017); 0 for ``special``."""
    frequencies = pieces / max(int(pieces.sum()), 1)
    weights = (a / (a + frequencies)).astype(np.float32)
    weights[special] = 0
    return weights


def whiten(table: Table, sample: Pieces, exponent: float) -> Table:
    """Scale the principal directions of a sample of lines by their variance to the power -``exponent``.

    0.5 would make all variances equal (BERT-whitening); less keeps part of the differences. The columns
    are ordered by variance, so that embeddings can be truncated, and the sample's vectors have a
    root-mean-square length of 1.
    """
    mean, rotation = partial_whitening(table.embed(sample), exponent)
    return Table(((table.vectors - mean) @ rotation).astype(np.float32), table.weights)


def partial_whitening(
    vectors: Matrix, exponent: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean (d,) and rotation (d, k): (v - mean) @ rotation whitens as in :func:`whiten`."""
    vectors = vectors.astype(np.float64)
    variances, directions = eigh(np.cov(vectors, rowvar=False))
    order = np.flatnonzero(variances > MIN_VARIANCE * variances[-1])[::-1]
    scale = variances[order] ** -exponent
    length = np.sqrt((variances[order] * scale**2).sum())
    return vectors.mean(axis=0), directions[:, order] * (scale / length)
