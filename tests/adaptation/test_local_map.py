"""The local map against gradient descent and values by hand, and as layers of a saved model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize

from clusterns.adaptation import local_map
from clusterns.adaptation.local_map import LocalMap, append_map, fit_map
from clusterns.adaptation.settings import TopicSettings
from clusterns.encoder.load import load_base
from clusterns.vectors.nearest import Vectors, unit

TEXTS = ["a river in winter", "the bank raised its rates", "sort an array"]
RANDOM = np.random.default_rng(0).standard_normal((2, 5, 256)).astype(np.float32)
LOCAL = LocalMap(unit(RANDOM[0]), RANDOM[1], 0.01)


def some(count: int, seed: int) -> Vectors:
    return unit(np.random.default_rng(seed).standard_normal((count, 4)).astype(np.float32))


def test_near_vectors_are_pulled_and_far_ones_stay_exactly() -> None:
    local = LocalMap(np.eye(2, dtype=np.float32), np.float32([[0, 1], [2, 0]]), 0.5)
    vectors = np.float32([[1, 0], [0.6, 0.8], [-0.6, -0.8]])
    # The first is 0.5 above the threshold of the first landmark, the second 0.1 and 0.3 above those of both.
    np.testing.assert_allclose(local(vectors), [[1, 0.5], [1.2, 0.9], [-0.6, -0.8]], rtol=1e-6)
    np.testing.assert_allclose(local.interpolate(0.5)(vectors[:1]), [[1, 0.25]])
    assert (local(vectors)[2] == vectors[2]).all()


def test_one_number_by_hand() -> None:
    one, two = np.ones((3, 1), np.float32), np.full((3, 1), 2, np.float32)
    # The activation is 0.5: (0.5 c - 1)^2 + w (0.5 c)^2 + r c^2 is smallest at c = 0.5 / (0.25 + 0.25 w + r).
    for still, weight, expected in (
        (one[:2], 0.5, 0.5 / 0.625),
        (one[:2], 0.0, 0.5 / 0.5),
        (one[:0], 0.0, 0.5 / 0.5),
    ):
        settings = TopicSettings(base="", threshold=0.5, general_weight=weight, ridge=0.25)
        found = fit_map(one, two, still, one[:1], settings)
        np.testing.assert_allclose(found.changes, [[expected]])


def test_it_is_where_gradient_descent_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_map, "BLOCK", 7)
    vectors, targets, still, landmarks = some(30, 1), some(30, 2), some(12, 3), some(6, 4)
    settings = TopicSettings(base="", threshold=0.2, general_weight=0.7, ridge=0.01)
    found = fit_map(vectors, targets, still, landmarks, settings)
    x, t, g, p = (torch.from_numpy(each).double() for each in (vectors, targets, still, landmarks))
    changes = torch.zeros(6, 4, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([changes], lr=0.5)
    for _ in range(5000):
        moved = (x + (x @ p.T - 0.2).relu() @ changes - t).square().sum(1).mean()
        stayed = ((g @ p.T - 0.2).relu() @ changes).square().sum(1).mean()
        loss = moved + 0.7 * stayed + 0.01 * changes.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert np.abs(found.changes).max() > 0.1, "nothing moved"
    np.testing.assert_allclose(found.changes, changes.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("ends_in_normalize", [True, False])
def test_vectors_are_mapped_and_the_saved_model_is_plain(
    ends_in_normalize: bool, tmp_path: Path
) -> None:
    model = load_base("minibert")
    if ends_in_normalize:
        model = SentenceTransformer(modules=[*model, Normalize()])
    model.prompts, model.truncate_dim = {"query": "about: "}, 100
    made = append_map(model, LOCAL)
    made.save_pretrained(str(tmp_path))
    opened = SentenceTransformer(str(tmp_path))
    with model.truncate_embeddings(None):
        before = unit(model.encode(TEXTS))
    expected = unit(LOCAL(before))
    assert np.abs(expected - before).max() > 0.01, "nothing moved"
    assert opened.truncate_dim == 100
    assert opened.prompts["query"] == "about: "
    np.testing.assert_allclose(opened.encode(TEXTS), expected[:, :100], atol=1e-5)
    assert len(list(model)) == 2 + ends_in_normalize, "the model itself was changed"
