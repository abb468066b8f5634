from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clusterns.vectors.settings import Format, Share
from clusterns.vectors.shards import Shards

FORMATS: list[Format] = ["parquet", "npy"]
VECTORS = np.arange(12, dtype=np.float32).reshape(3, 4) / 7
IDS = pa.chunked_array([[5, 6], [7]])
TEXTS = ["one", "", "dré"]
ROWS = pa.table({"id": IDS, "text": TEXTS})


@pytest.mark.parametrize("vectors", [VECTORS, VECTORS.astype(np.int8), VECTORS.astype(np.uint8)])
@pytest.mark.parametrize("ids", [IDS, pa.chunked_array([["a", "日本", "long " * 50]])])
def test_written_and_read(tmp_path: Path, vectors: np.ndarray, ids: pa.ChunkedArray) -> None:
    rows = pa.table({"id": ids, "text": TEXTS})
    Shards(tmp_path, "parquet", "d").write(3, rows, vectors)
    table = pq.read_table(tmp_path / "shard-00003.parquet")
    kind = pa.from_numpy_dtype(vectors.dtype)
    columns = [("id", ids.type), ("text", pa.string()), ("embedding", pa.list_(kind, 4))]
    assert table.schema == pa.schema(columns)
    assert table["id"].to_pylist() == ids.to_pylist()
    assert table["text"].to_pylist() == TEXTS
    assert table["embedding"].to_pylist() == vectors.tolist()
    Shards(tmp_path, "npy", "d").write(3, rows, vectors)
    stored = np.load(tmp_path / "shard-00003.npy", allow_pickle=False)
    assert stored.dtype == vectors.dtype
    np.testing.assert_array_equal(stored, vectors)
    assert np.load(tmp_path / "ids-00003.npy", allow_pickle=False).tolist() == ids.to_pylist()
    for kind in FORMATS:
        read, again = Shards(tmp_path, kind, "d").read(3)
        assert read.to_pydict() == {"id": ids.to_pylist(), "text": TEXTS}
        np.testing.assert_array_equal(again, vectors)


@pytest.mark.parametrize("kind", FORMATS)
def test_without_text(tmp_path: Path, kind: Format) -> None:
    shards = Shards(tmp_path, kind, "d", text=False)
    shards.write(0, ROWS, VECTORS)
    assert shards.is_done(0, 3)
    assert shards.read(0)[0].to_pydict() == {"id": [5, 6, 7]}
    assert not list(tmp_path.glob("texts-*"))


@pytest.mark.parametrize("kind", FORMATS)
def test_a_shard_of_another_manifest_is_not_done(
    tmp_path: Path, kind: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = Shards(tmp_path / "a", kind, "ours"), Shards(tmp_path / "b", kind, "theirs")
    for shards in (ours, theirs):
        shards.write(0, ROWS, VECTORS)
    assert ours.is_done(0, 3)
    for path in (tmp_path / "b").iterdir():  # each file by itself
        mine = tmp_path / "a" / path.name
        kept = mine.read_bytes()
        mine.write_bytes(path.read_bytes())
        assert not ours.is_done(0, 3)
        assert "of another model, corpus or setting" in capsys.readouterr().err
        mine.write_bytes(kept)
    assert ours.is_done(0, 3)


def test_a_plain_npy_file_is_no_shard(tmp_path: Path) -> None:
    shards = Shards(tmp_path, "npy", "d")
    shards.write(0, ROWS, VECTORS)
    np.save(tmp_path / "shard-00000.npy", VECTORS)
    assert not shards.is_done(0, 3)


@pytest.mark.parametrize("kind", FORMATS)
def test_done_is_there_readable_and_as_long(tmp_path: Path, kind: Format) -> None:
    shards = Shards(tmp_path, kind)
    assert not shards.is_done(0, 3)
    shards.write(0, ROWS, VECTORS)
    assert shards.is_done(0, 3)
    assert not shards.is_done(0, 4)
    whole = shards.path(0).read_bytes()
    for cut in (0, 5, len(whole) - 5):
        shards.path(0).write_bytes(whole[:cut])
        assert not shards.is_done(0, 3)


def test_ids_alone_are_no_shard(tmp_path: Path) -> None:
    shards = Shards(tmp_path, "npy")
    shards.write(0, ROWS, VECTORS)
    shards.path(0).unlink()
    assert not shards.is_done(0, 3)


def test_leftovers_of_this_share_only(tmp_path: Path) -> None:
    names = [
        ".shard-00000.npy.17.partial",
        ".ids-00002.npy.17.partial",
        ".shard-00004.parquet.1.partial",
        ".texts-00004.parquet.1.partial",
    ]
    others = [
        ".shard-00001.npy.17.partial",
        ".notes.partial",
        "shard-00000.npy",
        ".shard-x.partial",
    ]
    young = ".shard-00006.npy.17.partial"
    for name in [*names, *others, young]:
        (tmp_path / name).write_text("")
        if name != young:
            os.utime(tmp_path / name, (0, 0))
    Shards(tmp_path, "npy").remove_leftovers(Share(0, 2))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*others, young])
