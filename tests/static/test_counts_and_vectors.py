from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from clusterns.static.cooccurrence import count, prune
from clusterns.static.vectors import Table, first_vectors, ppmi, sif_weights, whiten
from clusterns.static.vocabulary import Pieces

SIZE = 12


def random_lines(seed: int, lines: int = 40) -> list[list[int]]:
    random = np.random.default_rng(seed)
    return [random.integers(0, SIZE, random.integers(0, 9)).tolist() for _ in range(lines)]


def as_pieces(lines: list[list[int]]) -> Pieces:
    ids = np.array([one for line in lines for one in line], np.int32)
    return Pieces(ids, np.array([len(line) for line in lines], np.int32))


def counts_by_hand(lines: list[list[int]], window: int) -> np.ndarray:
    counted: Counter[tuple[int, int]] = Counter()
    for line in lines:
        for i, left in enumerate(line):
            for right in line[i + 1 : i + 1 + window]:
                counted[min(left, right), max(left, right)] += 1
    matrix = np.zeros((SIZE, SIZE))
    for pair, times in counted.items():
        matrix[pair] = times
    return matrix


@pytest.mark.parametrize("window", [1, 3, 10])
def test_pairs_are_counted_within_a_line_and_a_window(window: int) -> None:
    lines = random_lines(0)
    # Seven blocks of different sizes: sums of blocks are merged in several rounds.
    cuts = [0, 1, 5, 6, 20, 21, 33, 40]
    blocks = [as_pieces(lines[a:b]) for a, b in pairwise(cuts)]
    counts = count(blocks, SIZE, window)
    np.testing.assert_array_equal(counts.pairs.toarray(), counts_by_hand(lines, window))
    frequencies = Counter(one for line in lines for one in line)
    assert counts.pieces.tolist() == [frequencies[i] for i in range(SIZE)]
    assert counts.lengths.tolist() == [len(line) for line in lines]


def test_a_full_table_drops_the_rarest_pairs() -> None:
    lines = random_lines(1, 200)
    full = counts_by_hand(lines, 2)
    counts = count([as_pieces(lines)], SIZE, 2, max_entries=40)
    kept = counts.pairs.toarray()
    assert 0 < (kept > 0).sum() <= 20
    np.testing.assert_array_equal(kept[kept > 0], full[kept > 0])
    assert full[kept == 0].max() <= kept[kept > 0].min()
    small = csr_array(np.array([[1.0, 1.0], [0.0, 5.0]], np.float32))
    assert prune(small, 3).nnz == 3


def test_ppmi_is_the_textbook_formula() -> None:
    upper = counts_by_hand(random_lines(2), 3)
    matrix = ppmi(csr_array(upper.astype(np.float32)), 0.75).toarray()
    both = upper + upper.T
    context = both.sum(axis=1) ** 0.75
    for i in range(SIZE):
        for j in range(SIZE):
            expected = 0.0
            if both[i, j]:
                p = both[i, j] / both.sum()
                row, column = both[i].sum() / both.sum(), context[j] / context.sum()
                expected = max(0.0, math.log(p / (row * column)))
            assert matrix[i, j] == pytest.approx(expected, abs=1e-5)


def test_first_vectors_span_what_an_exact_decomposition_does() -> None:
    counts = count([as_pieces(random_lines(3, 200))], SIZE, 4)
    vectors = first_vectors(counts, 5, 0.75, seed=0)
    left = np.linalg.svd(ppmi(counts.pairs, 0.75).toarray())[0][:, :5]
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors @ vectors.T, left @ left.T, atol=1e-4)
    again = first_vectors(counts, 5, 0.75, seed=0)
    np.testing.assert_array_equal(vectors, again)


def test_sif_weights_by_hand() -> None:
    weights = sif_weights(np.array([0, 10, 990]), 1e-3, special=[0])
    assert weights.tolist() == pytest.approx([0.0, 0.001 / 0.011, 0.001 / 0.991])


def random_table(seed: int = 0) -> Table:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(SIZE, 4)) * [1, 2, 3, 4]
    return Table(vectors.astype(np.float32), random.uniform(size=SIZE).astype(np.float32))


def test_a_text_is_the_weighted_mean_of_its_pieces() -> None:
    table = random_table()
    embedded = table.embed(as_pieces([[1, 1, 5], [], [7]]))
    w, v = table.weights, table.vectors
    expected = (2 * w[1] * v[1] + w[5] * v[5]) / (2 * w[1] + w[5])
    np.testing.assert_allclose(embedded[0], expected, rtol=1e-5)
    np.testing.assert_array_equal(embedded[1], np.zeros(4))
    np.testing.assert_allclose(embedded[2], v[7], rtol=1e-5)


@pytest.mark.parametrize("exponent", [0.0, 0.25, 0.5])
def test_whitening_scales_directions_by_their_variance(exponent: float) -> None:
    table, lines = random_table(), as_pieces([line for line in random_lines(4, 400) if line])
    before, white = table.embed(lines), whiten(table, lines, exponent)
    after = white.embed(lines)
    np.testing.assert_allclose(after.mean(axis=0), 0, atol=1e-5)
    variances = np.sort(np.linalg.eigvalsh(np.cov(before, rowvar=False)))[::-1]
    expected = variances ** (1 - 2 * exponent)
    covariance = np.cov(after, rowvar=False)
    np.testing.assert_allclose(covariance, np.diag(expected / expected.sum()), atol=1e-4)
    # Folded, the plain mean of the rows points in the same direction.
    folded = Table(white.folded(), np.ones(SIZE, np.float32)).embed(lines)
    cosines = (folded * after).sum(1) / np.linalg.norm(folded, axis=1)
    np.testing.assert_allclose(cosines, np.linalg.norm(after, axis=1), rtol=1e-4)
