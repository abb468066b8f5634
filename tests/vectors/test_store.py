from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clusterns.errors import UserError
from clusterns.files import read_json, write_json
from clusterns.vectors import store as store_module
from clusterns.vectors.settings import EncodeSettings, Partition
from clusterns.vectors.store import (
    CorpusFacts,
    Manifest,
    ModelFacts,
    Ranges,
    Store,
    read_manifest,
    write_once,
)

VECTORS = np.arange(12, dtype=np.float32).reshape(3, 4) / 7
IDS = pa.chunked_array([[5, 6], [7]])
TEXTS = ["one", "", "dré"]
ROWS = pa.table({"id": IDS, "text": TEXTS})


def manifest(model: str = "m", corpus: str = "c", **settings: Any) -> Manifest:
    return Manifest(
        model=ModelFacts(name="runs/a", fingerprint=model * 32, dimension=4),
        corpus=CorpusFacts(sources=["a.txt", "b.txt"], fingerprint=corpus * 32),
        settings=EncodeSettings(**settings),
        versions={"torch": "2"},
        ranges=Ranges(low=[0.1, -1 / 3], high=[1e-30, 2.0]),
    )


def test_read_back_as_written_by_the_first_machine(tmp_path):
    assert read_manifest(tmp_path / "new") is None
    assert manifest(id_column="key").begin(tmp_path / "new") == manifest(id_column="key")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["manifest.json"]
    assert manifest("n").begin(tmp_path / "new") == manifest(id_column="key")


def test_of_many_writers_one_wins(tmp_path):
    gate = threading.Barrier(8)

    def write(number: int) -> int:
        gate.wait()
        write_once(tmp_path / "a.json", number)
        return read_json(tmp_path / "a.json")

    with ThreadPoolExecutor(8) as pool:
        assert len({*pool.map(write, range(8))}) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_without_hard_links(tmp_path, monkeypatch):
    def link(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(store_module.os, "link", link)
    assert manifest().begin(tmp_path) == manifest()


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        (manifest(model="n"), r"another model \(runs/a, fingerprint mmmmmmmm\)"),
        (manifest(corpus="d"), r"another corpus \(a.txt, b.txt, fingerprint cccccccc\)"),
        (manifest(precision="int8"), "begun with --precision float32, not --precision int8"),
        (manifest(normalize=True), "begun with no --normalize, not --normalize. Use"),
        (manifest(id_column="key"), "begun with no --id-column, not --id-column key"),
        (manifest(shard_size=7), "begun with --shard-size 50000, not --shard-size 7"),
    ],
)
def test_what_is_refused(requested, message, tmp_path):
    with pytest.raises(UserError, match=message):
        manifest().check(requested, tmp_path)


def test_what_decides_the_shards_is_in_the_digest_and_versions_and_names_are_not(tmp_path):
    model = ModelFacts(name="moved", fingerprint="m" * 32, dimension=4)
    same = manifest().model_copy(update={"versions": {"torch": "3"}, "model": model})
    manifest().check(same, tmp_path)
    assert same.digest == manifest().digest
    others = [manifest(model="n"), manifest(corpus="d"), manifest(normalize=True)]
    others += [manifest(text=False), manifest().model_copy(update={"ranges": None})]
    assert len({manifest().digest, *(each.digest for each in others)}) == 6


def test_folders_that_hold_something_else(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a file. Choose a folder"):
        read_manifest(tmp_path / "file")
    (tmp_path / "shard-00000.parquet").write_text("")
    with pytest.raises(UserError, match="holds shards but no manifest.json"):
        read_manifest(tmp_path)
    write_json(tmp_path / "manifest.json", {"settings": {"format": "npy"}, "model": {}})
    with pytest.raises(UserError, match="was encoded by another version of clusterns"):
        read_manifest(tmp_path)
    for content in ("{", "[]", '{"name": "web app"}', '{"model": 1}'):
        (tmp_path / "manifest.json").write_text(content)
        with pytest.raises(UserError, match="does not describe encoded text"):
            read_manifest(tmp_path)


@pytest.mark.parametrize("vectors", [VECTORS, VECTORS.astype(np.int8), VECTORS.astype(np.uint8)])
@pytest.mark.parametrize("ids", [IDS, pa.chunked_array([["a", "日本", "long " * 50]])])
def test_written_and_read(tmp_path, vectors, ids):
    rows = pa.table({"id": ids, "text": TEXTS})
    store = Store(tmp_path, manifest())
    store.write(3, rows, vectors)
    table = pq.read_table(tmp_path / "shard-00003.parquet")
    kind = pa.from_numpy_dtype(vectors.dtype)
    columns = [("id", ids.type), ("text", pa.string()), ("embedding", pa.list_(kind, 4))]
    assert table.schema == pa.schema(columns)
    assert table["embedding"].to_pylist() == vectors.tolist()
    read, again = store.read(3)
    assert read.to_pydict() == {"id": ids.to_pylist(), "text": TEXTS}
    np.testing.assert_array_equal(again, vectors)


def test_done_is_there_readable_as_long_and_of_this_manifest(tmp_path, capsys):
    store = Store(tmp_path, manifest(text=False))
    assert not store.is_done(0, 3)
    store.write(0, ROWS, VECTORS)
    assert store.read(0)[0].to_pydict() == {"id": [5, 6, 7]}
    assert store.is_done(0, 3)
    assert not store.is_done(0, 4)
    assert not Store(tmp_path, manifest("n")).is_done(0, 3)
    assert "from another model, corpus or setting" in capsys.readouterr().err
    whole = store.path(0).read_bytes()
    for cut in (0, 5, len(whole) - 5):
        store.path(0).write_bytes(whole[:cut])
        assert not store.is_done(0, 3)


def test_leftovers_of_this_partition_only(tmp_path):
    ours = [".shard-00000.parquet.17.partial", ".shard-00004.parquet.1.partial"]
    others = [".shard-00001.parquet.17.partial", ".notes.partial", ".shard-x.partial", "shard-0"]
    young = ".shard-00006.parquet.17.partial"
    for name in [*ours, *others, young]:
        (tmp_path / name).write_text("")
        if name != young:
            os.utime(tmp_path / name, (0, 0))
    Store(tmp_path, manifest()).remove_leftovers(Partition(0, 2))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*others, young])
