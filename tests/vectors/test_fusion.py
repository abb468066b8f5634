import numpy as np
import pytest

from clusterns.vectors.ranking import fuse, largest_first


def numbers(*values):
    return np.array(values, dtype=np.float32)


def test_by_hand():
    # Cosines 0.2 to 0.6 become 0, 0.5, 1; words 0, 8 and 4 become 0, 1, 0.5.
    fused = fuse(numbers(0.2, 0.4, 0.6), numbers(0, 8, 4))
    assert fused == pytest.approx([0, 0.75, 0.75])


def test_a_side_that_is_the_same_everywhere_decides_nothing():
    assert fuse(numbers(0.3, 0.1), numbers(0, 0)) == pytest.approx([0.5, 0])
    assert fuse(numbers(), numbers()).shape == (0,)


@pytest.mark.parametrize("k", [0, 1, 7, 50, 80])
def test_top_is_a_stable_sort(k):
    scores = np.random.default_rng(0).integers(0, 9, 50).astype(np.float32)
    in_order = sorted(range(50), key=lambda place: (-scores[place], place))
    assert largest_first(scores, k).tolist() == in_order[:k]
