from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from clusterns.errors import UserError
from clusterns.files import read_json
from clusterns.vectors import manifest as manifest_module
from clusterns.vectors.manifest import (
    CorpusFacts,
    Manifest,
    ModelFacts,
    Ranges,
    read_manifest,
    write_once,
)
from clusterns.vectors.settings import EncodeSettings


def manifest(model: str = "m", corpus: str = "c", **settings: Any) -> Manifest:
    return Manifest(
        model=ModelFacts(name="runs/a", fingerprint=model * 32, dimension=4),
        corpus=CorpusFacts(sources=["a.txt", "b.txt"], fingerprint=corpus * 32),
        settings=EncodeSettings(**settings),
        versions={"torch": "2"},
        ranges=Ranges(low=[0.1, -1 / 3], high=[1e-30, 2.0]),
    )


def test_read_back_as_written(tmp_path: Path) -> None:
    assert read_manifest(tmp_path / "new") is None
    begun = manifest(id_column="key").begin(tmp_path / "new")
    assert begun == manifest(id_column="key")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["manifest.json"]


def test_the_quicker_machine_counts(tmp_path: Path) -> None:
    manifest("m").begin(tmp_path)
    assert manifest("n").begin(tmp_path) == manifest("m")


def test_of_many_writers_one_wins(tmp_path: Path) -> None:
    gate = threading.Barrier(8)

    def write(number: int) -> None:
        gate.wait()
        write_once(tmp_path / "a.json", number)
        seen.append(read_json(tmp_path / "a.json"))

    seen: list[int] = []
    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len(set(seen)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(manifest_module.os, "link", link)
    assert manifest().begin(tmp_path) == manifest()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (manifest(model="n"), r"another model \(runs/a, fingerprint mmmmmmmm\)"),
        (manifest(corpus="d"), r"another corpus \(a.txt, b.txt, fingerprint cccccccc\)"),
        (manifest(precision="int8"), "begun with --precision float32, not --precision int8"),
        (manifest(normalize=True), "begun with no --normalize, not --normalize:"),
        (manifest(id_column="key"), "begun with no --id-column, not --id-column key"),
        (manifest(shard_size=7), "begun with --shard-size 50000, not --shard-size 7"),
    ],
)
def test_what_is_refused(asked: Manifest, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        manifest().check(asked, tmp_path)


def test_other_versions_and_names_may_go_on(tmp_path: Path) -> None:
    model = ModelFacts(name="moved", fingerprint="m" * 32, dimension=4)
    asked = manifest().model_copy(update={"versions": {"torch": "3"}, "model": model})
    manifest().check(asked, tmp_path)


def test_the_digest_is_of_what_decides_the_shards() -> None:
    same = manifest().model_copy(
        update={
            "versions": {"torch": "3"},
            "model": ModelFacts(name="moved", fingerprint="m" * 32, dimension=4),
        }
    )
    assert same.digest == manifest().digest
    others = [manifest(model="n"), manifest(corpus="d"), manifest(normalize=True)]
    others += [manifest(text=False), manifest().model_copy(update={"ranges": None})]
    assert len({manifest().digest, *(each.digest for each in others)}) == 6


def test_folders_that_hold_something_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a file; name a folder"):
        read_manifest(tmp_path / "file")
    (tmp_path / "shard-00000.npy").write_text("")
    with pytest.raises(UserError, match="holds shards, but no manifest.json"):
        read_manifest(tmp_path)
    for content in ("{", "[]", '{"name": "web app"}', '{"model": 1}'):
        (tmp_path / "manifest.json").write_text(content)
        with pytest.raises(UserError, match="does not describe encoded text"):
            read_manifest(tmp_path)
