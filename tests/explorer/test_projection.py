from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest
from sklearn.decomposition import PCA

from clusterns.explorer.corpus import cached_array
from clusterns.explorer.projection import Projections, pca, procrustes_align, quantize
from clusterns.explorer.umap_process import umap_points


def test_pca_is_that_of_scikit_learn_but_for_the_sign():
    rows = np.random.default_rng(0).normal(size=(300, 12)) @ np.diag(np.arange(12, 0, -1.0))
    ours = pca(rows.astype(np.float32))
    theirs = PCA(2).fit_transform(rows)
    assert np.allclose(np.abs(ours), np.abs(theirs), atol=1e-3)
    assert np.allclose(pca(rows.astype(np.float32)), ours)


def test_a_map_is_turned_back_onto_another():
    points = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    angle = 2.1
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    mirrored = points @ turn * [1, -1] * 3.7 + [5, -2]
    assert np.allclose(procrustes_align(mirrored.astype(np.float32), points), points, atol=1e-4)


def test_a_map_that_has_nothing_to_do_with_another_is_as_wide():
    points, onto = np.random.default_rng(0).normal(size=(2, 500, 2)).astype(np.float32)
    assert np.std(procrustes_align(9 * points, onto)) == pytest.approx(np.std(onto), rel=0.02)


def test_places_for_the_page_keep_their_shape_and_have_one_scale():
    places = quantize(np.array([[0, 0], [4, 0], [4, 2], [2, 1]], dtype=np.float32)).astype(int)
    assert (places[0, 0], places[1, 0]) == (0, 65535)
    assert places[2, 1] - places[0, 1] == pytest.approx(65535 / 2, abs=2)
    assert abs(places[3] - 32767.5).max() <= 1
    assert len(quantize(np.zeros((3, 2), dtype=np.float32))) == 3
    small = np.array([[0, 0], [1, 1]], dtype=np.float32)
    large = np.array([[-4, 0], [4, 0]], dtype=np.float32)
    places, others = quantize(small, large).astype(int), quantize(large, small).astype(int)
    assert others[:, 0].tolist() == [0, 65535]
    assert places[1, 0] - places[0, 0] == pytest.approx(65535 / 8, abs=2)
    assert places[0, 1] == others[0, 1]


def test_what_is_kept_is_made_once_and_what_is_damaged_again(tmp_path):
    path, made = tmp_path / "folder" / "array.npy", []
    for damage in (False, False, True):
        if damage:
            path.write_bytes(path.read_bytes()[:-9])
        found = cached_array(path, lambda: made.append(1) or np.arange(5))
        assert found.tolist() == [0, 1, 2, 3, 4]
    assert len(made) == 2


def test_the_second_pca_lies_on_the_first(corpora):
    maps = Projections(corpora)
    first, second = (np.asarray(maps.points(n, "pca")) for n in (0, 1))
    spread = np.linalg.norm(first - first.mean(axis=0), axis=1).mean()
    own = pca(corpora[1].vectors)
    assert np.linalg.norm(second - first, axis=1).mean() < spread
    assert np.allclose(procrustes_align(own, first), second, atol=1e-4)


def test_umap_keeps_neighbours_together_and_does_not_forget_where_it_started():
    pytest.importorskip("umap")
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), 40)
    vectors = np.eye(4)[groups] + random.normal(scale=0.15, size=(160, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -2)
    rows = np.argsort(-cosines, axis=1)[:, :15].astype(np.int32)
    near = np.take_along_axis(cosines, rows, 1).astype(np.float32)
    start = pca(vectors.astype(np.float32))
    points = umap_points(rows, near, start)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    assert (groups[distances.argmin(axis=1)] == groups).mean() > 0.95
    assert np.array_equal(points, umap_points(rows, near, start))


def test_a_umap_that_fails_is_not_pending_forever(corpora, monkeypatch, capsys):
    def broken(*_: object, **__: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr("clusterns.explorer.projection.find_spec", lambda _: True)
    monkeypatch.setattr("subprocess.Popen", broken)
    maps = Projections(corpora)
    maps.start()
    while maps.running:
        time.sleep(0.01)
    assert maps.pending is None
    assert maps.kinds == ["pca"]
    assert "UMAP failed (no more processes)." in capsys.readouterr().err


def test_umap_runs_beside_the_server_and_can_be_stopped(corpora):
    pytest.importorskip("umap")
    maps = Projections(corpora)
    maps.start()
    assert maps.pending is not None
    while maps._process is None:
        time.sleep(0.05)
    number = maps._process.pid
    maps.stop()
    assert maps._process.poll() == -signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)
    assert maps.kinds == ["pca"]
