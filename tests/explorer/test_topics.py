from __future__ import annotations

import numpy as np
import pytest

from clusterns.errors import UserError
from clusterns.explorer.topics import Topics, choose_count, find_topics, outlier_limits


def blobs(
    count: int, each: int, noise: float = 0.02, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors about random directions, in random order, with the number of each's."""
    random = np.random.default_rng(seed)
    centroids = random.normal(size=(count, 24))
    centroids /= np.linalg.norm(centroids, axis=1, keepdims=True)
    labels = random.permutation(np.repeat(np.arange(count), each))
    rows = centroids[labels] + random.normal(scale=noise, size=(len(labels), 24))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32), labels


@pytest.mark.parametrize("count", [3, 8, 16])
def test_the_number_of_topics_is_found_without_labels(count):
    vectors, _ = blobs(count, 1200 // count)
    assert choose_count(vectors, seed=0, progress=False) == pytest.approx(count, rel=0.2)


def test_topics_are_the_blobs_with_their_words_and_central_sentences():
    vectors, labels = blobs(4, 50)
    words = ["ship sea", "judge court", "cell gene", "song band"]
    texts = [f"a {words[label]} number{i}" for i, label in enumerate(labels)]
    found = find_topics(vectors, texts, 4, progress=False)
    assert sum(topic.size for topic in found.topics) + found.outliers == 200
    assert [topic.size for topic in found.topics] == sorted(
        (topic.size for topic in found.topics), reverse=True
    )
    for topic in found.topics:
        members = labels[found.labels == topic.number]
        assert len(set(members.tolist())) == 1
        assert set(topic.words[:2]) == set(words[members[0]].split())
        best = int(np.argmax(vectors @ found.centroids[topic.number]))
        assert topic.central[0] == best
        cosines = vectors[found.labels == topic.number] @ found.centroids[topic.number]
        assert topic.cohesion == pytest.approx(float(cosines.mean()), abs=1e-5)


def test_a_sentence_that_is_near_to_no_topic_is_an_outlier_and_a_new_one_is_assigned():
    vectors, labels = blobs(3, 100)
    strange = np.zeros((1, 24), dtype=np.float32)
    strange[0] = np.linalg.svd(vectors.astype(np.float64))[2][-1]  # at right angles to all
    both, texts = np.concatenate([vectors, strange]), ["x y"] * 301
    found = find_topics(both, texts, 3, progress=False)
    assert found.labels[300] == -1
    assert (found.labels[:300] >= 0).mean() > 0.9
    same_seed = find_topics(both, texts, 3, progress=False)
    assert same_seed.labels.tolist() == found.labels.tolist()
    again, cosines = found.assign(5 * vectors[:10])
    assert again.tolist() == found.labels[:10].tolist()
    assert np.allclose(cosines, found.cosines[:10], atol=1e-5)
    assert found.assign(strange)[0].tolist() == [-1]
    assert len(set(labels[found.labels[:300] == 0].tolist())) == 1
    everyone = find_topics(both, texts, 3, outliers=False, progress=False)
    assert everyone.labels.min() >= 0
    assert everyone.assign(strange)[0].min() >= 0


def test_the_least_cosine_is_what_one_in_ten_strangers_exceeds():
    vectors, labels = blobs(2, 100, noise=0.3)
    centroids = np.stack([vectors[labels == n].mean(axis=0) for n in (0, 1)])
    least = outlier_limits(vectors, centroids, labels, np.arange(200))
    strangers = vectors[labels == 1] @ centroids[0]
    assert (strangers > least[0]).mean() == pytest.approx(0.1, abs=0.011)


def test_topics_are_merged_by_hand_or_by_similarity_and_new_sentences_follow():
    # Directions 0 and 1 are close, 2 and 3 less so.
    middles = np.eye(4, 24, dtype=np.float32)
    middles[1, 0], middles[3, 2] = 0.9, 0.5
    middles /= np.linalg.norm(middles, axis=1, keepdims=True)
    random = np.random.default_rng(0)
    labels = np.repeat(range(4), [40, 30, 20, 10])
    vectors = middles[labels] + random.normal(scale=0.02, size=(100, 24)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    words = ["ship sea", "boat sea", "judge law", "court law"]
    found = find_topics(vectors, [f"{words[n]} {words[n]}" for n in labels], 4, progress=False)

    def of(topics: Topics) -> list[set[int]]:
        """The directions in each topic."""
        return [set(labels[topics.labels == topic.number]) for topic in topics.topics]

    assert of(found) == [{0}, {1}, {2}, {3}]
    assert [node.children for node in found.tree] == [(0, 1), (2, 3), (4, 5)]
    assert found.tree[0].cosine > found.tree[1].cosine > found.tree[2].cosine
    assert [node.words[0] for node in found.tree[:2]] == ["sea", "law"]
    assert found.tree[2].size == 100 - found.outliers

    for merged in (found.merge([[1, 0]]), found.merge_to(3)):
        assert of(merged) == [{0, 1}, {2}, {3}]
        assert merged.topics[0].size == found.tree[0].size
        assert merged.topics[0].words[0] == "sea"
        assert merged.assign(vectors)[0].tolist() == merged.labels.tolist()
        assert merged.outliers == found.outliers
    assert of(found.merge([[0, 1], [1, 3]])) == [{0, 1, 3}, {2}]
    assert of(found.merge_to(2)) == of(found.merge([[0, 1], [2, 3]]))
    assert found.merge_to(9) is found
    with pytest.raises(UserError, match="topics go from 0 to 3"):
        found.merge([[0, 4]])


def test_few_or_equal_sentences_are_one_topic_or_as_many_as_differ():
    same = np.tile(np.array([[1.0, 0]], dtype=np.float32), (5, 1))
    assert len(find_topics(same, ["a"] * 5, 3, progress=False).topics) == 1
    two = np.eye(2, dtype=np.float32)
    assert len(find_topics(two, ["a", "b"], progress=False).topics) == 1
    assert len(find_topics(two, ["a", "b"], 2, progress=False).topics) == 2
